"""What is particular to PyTorch's adapter: its source, in-place put, layouts, compilation, conventions."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from parity.adapters import Adapter  # noqa: E402
from photofinish import data, models, weights  # noqa: E402
from photofinish.frameworks import Setup, Unsupported, native_source  # noqa: E402
from photofinish.frameworks._torch.weights import native_path  # noqa: E402
from photofinish.frameworks.numpy import Contestant as Reference  # noqa: E402
from photofinish.frameworks.torch import Contestant  # noqa: E402
from photofinish.graph import Graph, Tensor, apply, loss, record  # noqa: E402
from photofinish.layers import Elementwise, SoftmaxCrossEntropy, Spec  # noqa: E402
from photofinish.measure import system  # noqa: E402
from photofinish.optimizers import SGD, Adam, Optimizer, optimizer_json  # noqa: E402
from photofinish.runner import watchdog  # noqa: E402
from photofinish.vocabulary import (  # noqa: E402
    batch_norm,
    block,
    conv,
    flatten,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scope,
    training_only,
)
from remote import Link  # noqa: E402
from zoo import ONE_OF_EACH_FILE  # noqa: E402

BATCH = 8


def image_graph(function: Callable[[Tensor], Tensor]) -> Graph:
    """A graph on 3x8x8 images whose first output is trained to classify."""
    def model(image: Tensor) -> Tensor:
        logits = function(image)
        loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
        return logits
    return record(model, {"image": Spec("CHW", (3, 8, 8))})


@block
def residual(x: Tensor) -> Tensor:
    y = relu(batch_norm(conv(x, x.channels, 3), running_variance="population", momentum=0.7))
    return relu(batch_norm(conv(y, x.channels, 3)) + x)


def small_network(image: Tensor) -> Tensor:
    x = relu(batch_norm(conv(image, 8, 3)))
    x = max_pool(residual(residual(x)), 2)
    return linear(flatten(x), 5)


SMALL = image_graph(small_network)


def built(graph: Graph, optimizer: Optimizer | None = None, maker: Any = Contestant, mode: str = "eager",
          **setup: Any) -> tuple[Any, Any]:
    """A contestant with perturbed weights, and a batch."""
    contestant = maker(Setup(mode, **setup))
    contestant.build(graph, BATCH, optimizer or SGD())
    contestant.put(weights.perturbed_state(graph))
    return contestant, contestant.feed(data.draw_batch(graph, BATCH, seed=1))


def furthest(seen: dict[str, np.ndarray], exact: dict[str, np.ndarray]) -> float:
    """The largest error of any tensor, relative to its largest element (1 for one that is zero)."""
    assert seen.keys() == exact.keys()
    return max(float(np.max(np.abs(seen[name] - values)) / (np.max(np.abs(values)) or 1.0))
               for name, values in exact.items())


@pytest.mark.parametrize("options", [{}, {"fused": "on"}], ids=["plain", "fused"])
@pytest.mark.parametrize("optimizer", [SGD(0.05, 0.9), Adam(1e-3)], ids=["sgd", "adam"])
def test_ten_steps_in_double_precision_are_numpys(optimizer: Optimizer, options: dict[str, str]) -> None:
    ours, batch = built(SMALL, optimizer, precision="float64", options=options)
    reference, same = built(SMALL, optimizer, Reference, "reference", precision="float64")
    for _ in range(10):
        seen, exact = ours.read(ours.train_step(batch)), reference.read(reference.train_step(same))
        assert furthest(seen, exact) < 1e-12
    assert furthest(ours.get(), reference.get()) < 1e-12
    assert furthest(ours.read(ours.infer(batch)), reference.read(reference.infer(same))) < 1e-12


@pytest.mark.parametrize("name", ONE_OF_EACH_FILE)
def test_gradients_of_models_in_double_precision_are_numpys(name: str) -> None:
    graph = models.find(name).small().without_randomness()
    ours, batch = built(graph, precision="float64")
    reference, same = built(graph, None, Reference, "reference", precision="float64")
    seen, exact = ours.gradients(batch), reference.gradients(same)
    assert seen.keys() == exact.keys()
    scale = max(float(np.abs(values).max()) for key, values in exact.items() if key.startswith("gradient/"))
    for key, values in exact.items():  # a gradient that is zero exactly is noise of the others' size
        np.testing.assert_allclose(seen[key], values, rtol=1e-9, atol=1e-12 * scale, err_msg=key)


@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=["sgd", "adam"])
def test_a_state_put_elsewhere_continues_bit_by_bit(optimizer: Optimizer) -> None:
    first, batch = built(SMALL, optimizer)
    for _ in range(3):
        first.train_step(batch)
    second, _ = built(SMALL, optimizer)
    second.put(first.get())
    first.train_step(batch)
    second.train_step(batch)
    expected, seen = first.get(), second.get()
    assert [name for name in expected if not np.array_equal(seen[name], expected[name])] == []


def test_gradients_leave_nothing_behind() -> None:
    contestant, batch = built(SMALL)
    before = contestant.get()
    contestant.gradients(batch)
    after = contestant.get()
    assert [name for name in before if not np.array_equal(before[name], after[name])] == []


def test_steps_do_not_write_into_the_batch() -> None:
    graph = image_graph(lambda image: linear(flatten(relu(relu(image) + image)), 5))
    contestant, batch = built(graph)
    before = [tensor.clone() for tensor in batch]
    contestant.train_step(batch)
    contestant.infer(batch)
    assert all(torch.equal(tensor, copy) for tensor, copy in zip(batch, before))


def test_modes_may_alternate() -> None:
    contestant, batch = built(SMALL)
    alone, same = built(SMALL)
    for _ in range(3):
        contestant.train_step(batch)
        contestant.infer(batch)
        alone.train_step(same)
    assert furthest(contestant.get(), alone.get()) < 1e-6  # converting a variance at each change rounds it


def test_read_only_arrays_are_welcome() -> None:
    contestant, _ = built(SMALL)
    arrays = dict(contestant.get(), **data.draw_batch(SMALL, BATCH, seed=1))
    for values in arrays.values():
        values.setflags(write=False)
    contestant.put(arrays)
    contestant.train_step(contestant.feed(arrays))


def test_channels_last_is_native_only() -> None:
    contestant, batch = built(SMALL, options={"layout": "channels_last"})
    plain, same = built(SMALL)
    assert batch[0].is_contiguous(memory_format=torch.channels_last)
    assert contestant.evidence()["layout"] == "channels_last"
    assert plain.evidence()["layout"] == "contiguous"
    contestant.train_step(batch)
    plain.train_step(same)
    assert contestant.evidence()["layout"] == "channels_last"  # a step keeps it
    assert furthest(contestant.get(), plain.get()) < 1e-4
    assert all(values.flags.c_contiguous for values in contestant.get().values())


@pytest.mark.parametrize("optimizer", [SGD(0.05, 0.0), SGD(0.05, 0.9), Adam(1e-3)], ids=str)
def test_only_who_asks_for_fused_optimizers_has_them(optimizer: Optimizer, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels: list[str] = []
    for name in ("_fused_sgd_", "_fused_adam_"):
        kernel = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *given, kernel=kernel, name=name, **named: (
            kernels.append(name), kernel(*given, **named))[1])
    for options, expected in (({}, []), ({"fused": "on"}, [f"_fused_{type(optimizer).__name__.lower()}_"])):
        contestant, batch = built(SMALL, optimizer, options=options)
        contestant.train_step(batch)
        assert kernels == expected
        assert (contestant.facts()["optimizer"].rpartition(", ")[2] == "fused") == bool(options)


@pytest.mark.compiled
def test_compiling_happens_once_and_survives_put() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch._dynamo.utils.clear_compilation_metrics()
    contestant, batch = built(SMALL, mode="compile")
    eager, same = built(SMALL)
    for _ in range(2):
        for _ in range(3):
            assert furthest(contestant.read(contestant.train_step(batch)), eager.read(eager.train_step(same))) < 1e-4
        assert furthest(contestant.read(contestant.infer(batch)), eager.read(eager.infer(same))) < 1e-3
        contestant.gradients(batch)
        contestant.put(weights.perturbed_state(SMALL))
        eager.put(weights.perturbed_state(SMALL))
    contestant.probe("multiply", {"a": np.ones(3, np.float32), "b": np.ones(3, np.float32)})  # not counted
    evidence = contestant.evidence()
    assert evidence["compiled"]
    assert (evidence["graphs"], evidence["graph_breaks"], evidence["recompiles"]) == (2, 0, 0)
    assert evidence["generated_kernels"] > 0
    assert not eager.evidence()["compiled"]


@pytest.mark.compiled
def test_max_autotune_computes_the_same() -> None:
    contestant, batch = built(SMALL, mode="max-autotune")
    eager, same = built(SMALL)
    assert furthest(contestant.read(contestant.train_step(batch)), eager.read(eager.train_step(same))) < 1e-4
    evidence = contestant.evidence()
    assert evidence["compiled"] and evidence["generated_kernels"] > 0 and evidence["autotuned"] >= 0


@pytest.mark.parametrize("mode", ["trace", "export"])
def test_a_program_is_made_again_for_other_weights_and_of_what_inference_has(mode: str) -> None:
    def model(image: Tensor) -> tuple[Tensor, Tensor]:
        x = relu(batch_norm(conv(image, 4, 3)))
        with training_only():
            auxiliary = linear(flatten(x), 5)
        return auxiliary, linear(global_average_pool(x), 5)
    graph = record(model, {"image": Spec("CHW", (3, 8, 8))})
    contestant, batch = built(graph, mode=mode)
    eager, _ = built(graph)
    state = weights.perturbed_state(graph)
    assert contestant.read(contestant.infer(batch)).keys() == {"output/" + graph.outputs[1]}
    made = contestant.mode.program
    contestant.put(state)
    contestant.infer(batch)
    assert contestant.mode.program is made
    for each in (contestant, eager):
        each.put({name: values * np.float32(1.5) for name, values in state.items()})
    assert furthest(contestant.read(contestant.infer(batch)), eager.read(eager.infer(batch))) < 1e-5
    assert contestant.mode.program is not made
    operations = contestant.evidence()["operations"]
    assert any("conv" in name for name in operations)
    assert any("batch_norm" in name for name in operations) == (mode == "export")  # in a frozen trace it is folded
    for verb in (contestant.train_step, contestant.gradients):
        with pytest.raises(Unsupported, match=f"torch:{mode} runs inference only"):
            verb(batch)


def test_bf16_computes_with_coarser_products_and_keeps_what_it_learns_in_float32() -> None:
    Adapter(Contestant, "eager").assert_coarser_products("bf16", "bfloat16")


@pytest.mark.parametrize("mode", ["cudagraphs", "tf32"])
def test_some_modes_need_a_gpu(mode: str) -> None:
    with pytest.raises(Unsupported, match=f"torch:{mode} needs a CUDA device, not cpu"):
        Contestant(Setup(mode))


def test_convolutions_are_onednns_where_it_is_there() -> None:
    contestant, _ = built(SMALL)
    assert any("convolution" in kernel for kernel in contestant.evidence()["kernels"]) == \
        contestant.facts()["onednn"]


def test_matched_means_float32_and_the_threads_asked_for() -> None:
    before = torch.get_num_threads()
    try:
        facts = Contestant(Setup("eager", threads=1)).facts()
        assert facts["threads"] == 1
        assert set(facts["float32"].values()) == {"ieee"}
        torch.backends.mkldnn.conv.fp32_precision = "bf16"
        facts = Contestant(Setup("eager", threads=2, regime="out-of-the-box")).facts()
        assert facts["threads"] == 1
        assert facts["float32"]["mkldnn.conv"] == "bf16"  # the framework's own settings are left alone
    finally:
        torch.set_num_threads(before)
        Contestant(Setup("eager", threads=before))


@pytest.mark.parametrize(("setup", "message"), [
    (Setup("jit"), "mode jit"),
    (Setup("eager", {"layout": "nhwc"}), "layout=contiguous"),
    (Setup("eager", {"fused": "yes"}), "fused=off or on"),
    (Setup("eager", {"fast": "yes"}), "option fast"),
    (Setup("eager", precision="int8"), "int8"),
    (Setup("eager", device="tpu"), "tpu"),
])
def test_what_it_cannot_do_it_says(setup: Setup, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        Contestant(setup)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_is_refused_where_there_is_none() -> None:
    with pytest.raises(Unsupported, match="no CUDA device"):
        Contestant(Setup("eager", device="cuda"))


def test_probes_compute_what_they_are_called() -> None:
    contestant, _ = built(SMALL)
    a, b = np.random.RandomState(0).standard_normal((2, 6, 6)).astype(np.float32)
    assert np.allclose(contestant.probe("matmul", {"a": a, "b": b})["result"], a @ b, atol=1e-5)
    assert np.array_equal(contestant.probe("multiply", {"a": a, "b": b})["result"], a * b)
    same = np.zeros((2, 2, 3, 3), np.float32)
    same[[0, 1], [0, 1], 1, 1] = 1.0
    image = np.random.RandomState(1).standard_normal((1, 2, 5, 5)).astype(np.float32)
    assert np.array_equal(contestant.probe("conv", {"image": image, "weight": same})["result"], image)
    with pytest.raises(Unsupported, match="no probe"):
        contestant.probe("fft", {})


# The source


def test_a_layer_it_has_no_form_for_is_named() -> None:
    @dataclass(frozen=True)
    class Softsign(Elementwise):
        """x / (1 + |x|)."""

    strange = image_graph(lambda image: linear(flatten(apply(Softsign(), image)[0]), 5))
    with pytest.raises(Unsupported, match=r"softsign1 \(Softsign\): no form in PyTorch"):
        native_source("torch", strange)
    sideways = record(lambda x: batch_norm(x), {"x": Spec("CT", (4, 3))})
    with pytest.raises(Unsupported, match=r"batch_norm1 \(BatchNorm\): no form in PyTorch for axes 'CT'"):
        native_source("torch", sideways)


def test_no_layer_name_hides_a_method_of_module() -> None:
    assert [name for name in dir(torch.nn.Module()) if not name.startswith("_") and native_path(name) == name] == []


def test_awkward_names_are_renamed() -> None:
    def awkward(image: Tensor) -> Tensor:
        x = conv(image, 4, 3, name="class")
        x = conv(x, 4, 3, name="2 x")
        with scope("type"):
            x = conv(x, 4, 3, name="register_buffer")
        return linear(flatten(x), 5, name="train")
    contestant, batch = built(image_graph(awkward))
    contestant.train_step(batch)
    assert "parameter/type.register_buffer.weight" in contestant.get()


def test_a_layer_and_a_scope_of_one_name_are_refused() -> None:
    def clash(image: Tensor) -> Tensor:
        x = conv(image, 4, 3, name="head")
        with scope("head"):
            return linear(flatten(x), 5)
    with pytest.raises(Unsupported, match="called head"):
        native_source("torch", image_graph(clash))


def test_a_training_branch_may_leave_its_scope() -> None:
    @block
    def trunk(x: Tensor) -> tuple[Tensor, Tensor]:
        x = relu(conv(x, 4, 3))
        with training_only():
            auxiliary = linear(flatten(batch_norm(x)), 5)
        return relu(conv(x, 4, 3)), auxiliary

    def model(image: Tensor) -> Tensor:
        x, auxiliary = trunk(image)
        loss(SoftmaxCrossEntropy(), auxiliary, "label", Spec("", (), "int32"), weight=0.3)
        return linear(global_average_pool(x), 5)

    graph = image_graph(model)
    ours, batch = built(graph, precision="float64")
    reference, same = built(graph, None, Reference, "reference", precision="float64")
    assert furthest(ours.gradients(batch), reference.gradients(same)) < 1e-10
    assert furthest(ours.read(ours.infer(batch)), reference.read(reference.infer(same))) < 1e-12


def test_scopes_that_are_alike_share_a_class() -> None:
    source = native_source("torch", SMALL)
    assert source.count("class Residual(nn.Module)") == 1
    assert source.count("= Residual()") == 2


def test_it_reads_as_a_person_would_write_it() -> None:
    forward = native_source("torch", SMALL).split("class Residual")[1].split("def forward")[1].split("class")[0]
    assert forward.strip() == """\
(self, x):
        y = F.relu(self.batch_norm1(self.conv1(x)), inplace=True)
        y = self.batch_norm2(self.conv2(y))
        y += x
        return F.relu(y, inplace=True)"""


def test_processes_that_feed_it_stay_on_its_cores_and_wait_and_end_with_it(tmp_path: Path,
                                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    core = min(os.sched_getaffinity(0))
    monkeypatch.setenv("PHOTOFINISH_CORES", str(core))
    samples = data.draw_batch(SMALL, 2 * BATCH + 1, 0)
    for name, what in (("image", "inputs"), ("label", "labels")):
        np.save(tmp_path / f"train-{what}.npy", samples[name])
    link = Link(sys.executable, "torch", ())
    link.ask("load", framework="torch", setup={"mode": "eager", "threads": 1}, sabotage={})
    (tmp_path / "graph.json").write_text(json.dumps(SMALL.to_json()))
    link.ask("build", graph=str(tmp_path / "graph.json"), batch=BATCH, optimizer=optimizer_json(SGD()))
    link.ask("data", folder=str(tmp_path), orders=None, seed=0, loop="", options={"workers": "2"})
    first = link.ask("epoch", number=1)
    assert link.worker is not None and first["steps"] == 3 and first["last_step"] > 0
    alive = watchdog.carriers(link.worker.mark)
    assert len(alive) >= 3 and all(os.sched_getaffinity(pid) == {core} for pid in alive)
    link.worker.stop()
    assert {system.state_of(pid)[0] for pid in alive} == {"T"}
    link.worker.wake()
    assert link.ask("epoch", number=2)["steps"] == 3
    assert watchdog.carriers(link.worker.mark) == alive  # kept from epoch to epoch
    link.close()
    assert watchdog.carriers(link.worker.mark) == []
