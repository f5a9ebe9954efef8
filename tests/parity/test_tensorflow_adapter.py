"""What is particular to TensorFlow's adapter: modes, traces, layouts, Keras' own conventions."""

import importlib.util
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("TensorFlow is not installed", allow_module_level=True)

from parity.adapters import BATCH, SMALL, Adapter, assert_near, image_graph, reference
from parity.contenders import make
from photofinish import data, weights
from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks.tensorflow import Contestant, native_source
from photofinish.graph import Tensor, apply, loss, record
from photofinish.layers import Linear, Scan, SoftmaxCrossEntropy, Spec
from photofinish.optimizers import SGD, Adam, Optimizer
from photofinish.values import Contender
from photofinish.vocabulary import (
    adaptive_average_pool,
    batch_norm,
    clip,
    concat,
    conv,
    flatten,
    global_average_pool,
    linear,
    max_pool,
    relu,
    relu6,
)

MODES = ["eager", "graph", "xla"]
TIMED = [*((mode, task) for mode in (*MODES, "bf16") for task in ("train", "infer")), ("savedmodel", "infer")]
ADAPTER = Adapter(Contestant, "graph")
built, assert_same_gradients = ADAPTER.built, ADAPTER.assert_same_gradients


@pytest.mark.parametrize("optimizer", [SGD(0.05, 0.9), SGD(0.05, 0.0), Adam(1e-2, epsilon=1e-3)], ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_ten_steps_in_double_precision_are_numpys(mode: str, optimizer: Optimizer) -> None:
    ADAPTER.assert_same_steps(mode, optimizer)


@pytest.mark.parametrize("mode", ["graph", "xla"])
def test_put_happens_in_place(mode: str) -> None:
    """One trace serves a whole race, however often the canonical state is loaded again."""
    contestant, batch = built(SMALL, mode, Adam())
    start = contestant.get()
    losses = []
    for _ in range(3):
        contestant.put(start)
        losses.append([float(contestant.read(contestant.train_step(batch))["loss"]) for _ in range(3)])
        contestant.wait(contestant.infer(batch))
    assert losses[0] == losses[1] == losses[2]
    assert losses[0][0] != losses[0][1]
    seen = contestant.evidence()
    assert seen["train_step"]["traces"] == seen["infer"]["traces"] == 1


def test_a_state_put_elsewhere_continues() -> None:
    """Slots, the step count and half-converted variances survive the way through `get` and `put`."""
    for optimizer in (SGD(0.05), Adam(1e-2)):
        (first, batch), (exact, same) = built(SMALL, "eager", optimizer), reference(SMALL, optimizer)
        for _ in range(2):
            first.train_step(batch)
            exact.train_step(same)
        second, _ = built(SMALL, "graph", optimizer)
        second.put(first.get())
        second.train_step(batch)
        exact.train_step(same)
        assert_near(second.get(), exact.get())


def test_gradients_leave_nothing_behind() -> None:
    contestant, batch = built(SMALL)
    before = contestant.get()
    contestant.gradients(batch)
    after = contestant.get()
    assert [name for name in before if not np.array_equal(before[name], after[name])] == []


def test_gradients_need_no_optimizer() -> None:
    (ours, batch), (exact, same) = built(SMALL, optimizer=None), reference(SMALL, None)
    assert_near(ours.gradients(batch), exact.gradients(same))
    with pytest.raises(Unsupported, match="optimizer"):
        ours.train_step(batch)


@pytest.mark.parametrize("convention", ["sample", "population"])
def test_running_variance_is_in_the_graphs_convention(convention: str) -> None:
    """Four values per channel and batch: n / (n - 1) is 4/3, and no tolerance could hide it."""
    graph = image_graph(lambda image: linear(batch_norm(
        global_average_pool(image), momentum=0.7, running_variance=convention), 5))
    (ours, batch), (exact, same) = built(graph), reference(graph)
    variance = "state/batch_norm1.running_variance"
    assert np.array_equal(ours.get()[variance], exact.get()[variance])
    for _ in range(3):
        ours.train_step(batch)
        exact.train_step(same)
        np.testing.assert_allclose(ours.get()[variance], exact.get()[variance], rtol=1e-12)


def test_one_value_has_no_sample_variance() -> None:
    graph = image_graph(lambda image: linear(batch_norm(global_average_pool(image)), 5))
    contestant = Contestant(Setup("graph"))
    contestant.build(graph, 1)
    with pytest.raises(Unsupported, match="one value"):
        contestant.build(graph, 1, SGD())


@pytest.mark.parametrize("sizes", [((4, 4), (7, 7)), ((10, 10), (7, 7)), ((7, 7), (7, 7)), ((8, 4), (4, 2)),
                                   ((4, 9), (1, 4)), ((1, 5), (3, 2)), ((2, 2), (1, 3))], ids=str)
def test_adaptive_average_pool(sizes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    size, bins = sizes
    assert_same_gradients(image_graph(
        lambda image: linear(flatten(adaptive_average_pool(conv(image, 2, 1), bins)), 5), (3, *size)))


def two_flattened(x: Tensor) -> Tensor:
    """A concatenation cannot be permuted by anybody's weights: the images are transposed."""
    return linear(concat(flatten(x), flatten(max_pool(x, 2))), 5)


FLATTENED: dict[str, tuple[Callable[[Tensor], Any], bool]] = {  # the model, and whether it must transpose
    "then linear": (lambda x: linear(flatten(x), 5), False),
    "through norm and relu": (lambda x: linear(relu(batch_norm(flatten(x))), 5), False),
    "twice": (lambda x: linear(flatten(relu(flatten(x))), 5), False),
    "also returned": (lambda x: (linear(relu(flatten(x)), 5), flatten(x)), False),
    "of one pixel": (lambda x: flatten(global_average_pool(conv(x, 5, 1), keep_axes=True)), False),
    "concatenated": (two_flattened, True),
    "added": (lambda x: linear(flatten(x) + linear(flatten(x), 48), 5), True),
    "as logits": (flatten, True),
}


@pytest.mark.parametrize("name", FLATTENED)
def test_flattened_features(name: str) -> None:
    function, transposed = FLATTENED[name]
    graph = image_graph(lambda image: function(conv(image, 2, 1)), (3, 4, 6))
    assert ("Permute" in native_source(graph)) == transposed
    assert_same_gradients(graph)


def test_a_weight_shared_with_other_features_is_not_permuted() -> None:
    def model(image: Tensor) -> Tensor:
        first = linear(flatten(conv(image, 2, 1)), 48, bias=False, name="first")
        return linear(linear(first, 48, weight="first.weight"), 5)
    assert_same_gradients(image_graph(model, (3, 4, 6)))


@pytest.mark.parametrize("bend", [relu, relu6, lambda x: clip(x, -0.5, 0.5)], ids=["relu", "relu6", "clip"])
def test_no_gradient_flows_at_the_bounds_themselves(bend: Callable[[Tensor], Tensor]) -> None:
    """A 1x1 convolution with weight one passes the input on: each bound is hit exactly."""
    graph = image_graph(lambda image: linear(flatten(bend(conv(image, 1, 1, name="pass"))), 5), (1, 2, 4))
    state = weights.perturbed_state(graph)
    state["parameter/pass.weight"][:] = 1
    image = np.resize(np.float32([-0.5, 0, 0.5, 6, -1, 0.25, 3, 7]), (BATCH, 1, 2, 4))
    drawn = dict(data.draw_batch(graph, BATCH, seed=1), image=image)
    (ours, _), (exact, _) = built(graph), reference(graph)
    for contestant in (ours, exact):
        contestant.put(state)
    assert_near(ours.gradients(ours.feed(drawn)), exact.gradients(exact.feed(drawn)))


def test_a_dilated_and_strided_convolution_is_thinned_out() -> None:
    graph = image_graph(lambda image: linear(flatten(conv(image, 4, 3, stride=2, dilation=2)), 5))
    assert "::2" in native_source(graph)
    assert_same_gradients(graph)


def test_padding_is_tensorflows_own_where_it_is_exactly_that() -> None:
    def printed(**options: Any) -> str:
        return native_source(image_graph(lambda image: linear(flatten(conv(image, 4, 3, **options)), 5)))
    assert 'padding="same"' in printed()
    assert 'padding="same"' in printed(stride=2, padding=(0, 0, 1, 1))
    assert "ZeroPadding2D(((1, 0), (1, 0))" in printed(stride=2, padding=1)  # the last row would be read by no window


def test_a_float32_contestant_survives_a_float64_one() -> None:
    """Keras' floating type is global: what was built before must not notice."""
    alone, batch = built(SMALL, "eager", Adam(), precision="float32")
    for _ in range(2):
        alone.train_step(batch)
    disturbed, batch = built(SMALL, "eager", Adam(), precision="float32")
    disturbed.train_step(batch)
    built(SMALL, "eager", Adam(), precision="float64")
    disturbed.train_step(batch)
    expected, seen = alone.get(), disturbed.get()
    assert {values.dtype for name, values in seen.items() if name != "step"} == {np.dtype("float32")}
    assert all(np.array_equal(seen[name], expected[name]) for name in expected)


def test_the_batch_is_a_copy() -> None:
    contestant, _ = built(SMALL)
    arrays = data.draw_batch(SMALL, BATCH, seed=1)
    fed = contestant.feed(arrays)
    before = contestant.gradients(fed)["loss"]
    for values in arrays.values():
        values[:] = 0
    assert contestant.gradients(fed)["loss"] == before


@pytest.mark.parametrize("mode", MODES)
def test_probes_compute_what_they_say(mode: str) -> None:
    contestant = Contestant(Setup(mode))
    generator = np.random.RandomState(0)
    a, b = (generator.standard_normal((5, 5)).astype(np.float32) for _ in range(2))
    np.testing.assert_allclose(contestant.probe("matmul", {"a": a, "b": b})["result"], a @ b, rtol=0, atol=1e-5)
    assert np.array_equal(contestant.probe("multiply", {"a": a, "b": b})["result"], a * b)
    image, kernel = np.zeros((1, 2, 4, 5), np.float32), generator.standard_normal((3, 2, 3, 3)).astype(np.float32)
    image[0, 1, 0, 3] = 1
    result = contestant.probe("conv", {"input": image, "weight": kernel})["result"]
    assert result.shape == (1, 3, 4, 5)
    np.testing.assert_allclose(result[0, :, 0:2, 2:5], kernel[:, 1, 1::-1, ::-1], rtol=0, atol=1e-6)
    with pytest.raises(Unsupported, match="no probe"):
        contestant.probe("sort", {"a": a})


def test_evidence_tells_the_modes_apart() -> None:
    seen = {}
    for mode in MODES:
        contestant, batch = built(SMALL, mode, precision="float32")
        contestant.wait(contestant.train_step(batch))
        before = contestant.get()
        seen[mode] = contestant.evidence()
        after = contestant.get()
        assert all(np.array_equal(after[name], before[name]) for name in before)
    assert seen["eager"]["train_step"] == {"traces": 0}
    assert seen["graph"]["train_step"]["graph_nodes"] > len(SMALL.nodes)
    kernels = seen["graph"]["train_step"]["kernels"]
    assert kernels and any("Conv" in name for name in kernels) == any("Mkl" in name for name in kernels)
    assert seen["xla"]["train_step"]["fused_kernels"] > 0
    assert [seen[mode]["compiled"] for mode in MODES] == [False, False, True]


def test_a_saved_model_is_made_again_for_other_weights() -> None:
    (ours, batch), (exact, same) = built(SMALL, "savedmodel"), reference(SMALL)
    state = exact.get()
    assert_near(ours.read(ours.infer(batch)), exact.read(exact.infer(same)))
    loaded = ours.mode.loaded
    ours.put(state)
    ours.infer(batch)
    assert ours.mode.loaded is loaded
    moved = {name: values * 1.5 if name.startswith("parameter/") else values for name, values in state.items()}
    for each in (ours, exact):
        each.put(moved)
    assert_near(ours.read(ours.infer(batch)), exact.read(exact.infer(same)))
    assert ours.mode.loaded is not loaded
    assert ours.evidence()["infer"]["graph_nodes"] > len(SMALL.nodes)
    for verb in (ours.train_step, ours.gradients):
        with pytest.raises(Unsupported, match="tensorflow:savedmodel runs inference only"):
            verb(batch)


def test_onednn_is_off_where_the_contender_asks_for_it() -> None:
    contestant: Any = make(Contender("tensorflow", "graph", (("onednn", "off"),)))
    assert contestant.facts()["onednn"] == "0"
    contestant.build(SMALL, BATCH)
    contestant.put(weights.perturbed_state(SMALL))
    contestant.infer(contestant.feed(data.draw_batch(SMALL, BATCH, seed=1)))
    kernels = contestant.ask("probe")["probes"]["evidence"]["infer"]["kernels"]
    assert not [name for name in kernels if "Mkl" in name]


def test_facts_name_what_runs() -> None:
    facts = Contestant(Setup("graph")).facts()
    assert facts["version"].split(".")[0] == "2"
    assert facts["intra_op_threads"] == facts["inter_op_threads"] == 1
    assert facts["tensor_float_32"] is False


@pytest.mark.parametrize("setup", [Setup("compile"), Setup("graph", {"layout": "NCHW"}), Setup("graph", device="tpu"),
                                   Setup("graph", device="cuda:99"), Setup("graph", precision="bfloat16"),
                                   Setup("graph", threads=7)], ids=str)
def test_what_cannot_be_had_is_refused(setup: Setup) -> None:
    Contestant(Setup("graph")).facts()  # starts the process with one thread
    with pytest.raises(Unsupported):
        Contestant(setup)


def test_bf16_computes_with_coarser_products_and_keeps_what_it_learns_in_float32() -> None:
    ADAPTER.assert_coarser_products("bf16", "bfloat16")
    contestant, batch = built(SMALL, "bf16", precision="float32")
    contestant.infer(batch)
    assert contestant.evidence()["infer"]["policies"] == ["float32", "mixed_bfloat16"]  # the first of the last layer
    exact, _ = built(SMALL, "graph", precision="float32")
    assert {each.compute_dtype for each in exact.model.layers} == {"float32"}  # the policy is gone with its model


def test_a_layer_that_cannot_be_had_is_named() -> None:
    step = record(lambda carry, x: (relu(carry + x),) * 2, {"carry": Spec("TC", (2, 3)), "x": Spec("TC", (2, 3))})
    graph = record(lambda carry, x: apply(Scan(step), carry, x, name="walk"),
                   {"carry": Spec("TC", (2, 3)), "x": Spec("TC", (5, 3))})
    with pytest.raises(Unsupported, match="walk"):
        Contestant(Setup("graph")).build(graph, BATCH)


def test_names_that_python_or_the_code_needs_are_changed() -> None:
    def model(x: Tensor, outputs: Tensor) -> Tensor:
        y = linear(x, 4, name="class") + linear(outputs, 4, name="a.b")
        logits = linear(y, 5, name="tf") + linear(y * y, 5, name="a_b")
        loss(SoftmaxCrossEntropy(), logits, "loss", Spec("", (), "int32"))
        return logits
    graph = record(model, {"x": Spec("C", (3,)), "outputs": Spec("C", (3,))})
    assert {type(node.layer) for node in graph.nodes} >= {Linear}
    assert_same_gradients(graph)


def test_generated_lines_show_in_tracebacks() -> None:
    contestant, batch = built(SMALL, "eager")
    with pytest.raises(ValueError, match="Invalid input shape") as caught:
        contestant.native["train_step"](*batch[::-1])
    frames = [entry.path for entry in caught.traceback if str(entry.path).startswith("<photofinish_tensorflow_eager")]
    assert frames
    assert linecache.getline(str(frames[0]), 1).startswith('"""A Keras model')


def test_a_model_that_follows_another_takes_its_place_in_memory() -> None:
    """TensorFlow keeps the graph of a training step, and the variables in it, after the last of our references."""
    contestant, batch = built(SMALL, "graph", Adam())
    contestant.train_step(batch)
    former = [variable.value for variable in contestant.model.variables + contestant.updater.variables]
    contestant.build(SMALL, BATCH, SGD(0.05, 0.9))
    assert {int(np.size(variable.numpy())) for variable in former} == {1}


@pytest.mark.parametrize(("mode", "task"), TIMED)
def test_what_a_step_returns_is_waited_for_and_not_copied(mode: str, task: str,
                                                          monkeypatch: pytest.MonkeyPatch) -> None:
    import tensorflow as tf
    contestant, batch = ADAPTER.built(SMALL, mode, precision="float32")
    handle = contestant.train_step(batch) if task == "train" else contestant.infer(batch)
    (tensor,) = handle.values() if isinstance(handle, dict) else (handle,)
    with monkeypatch.context() as patched:
        patched.setattr(type(tensor), "numpy", lambda self: pytest.fail("it was copied"))
        contestant.wait(handle)
    assert np.all(np.isfinite(tensor.numpy())) and tf.is_tensor(tensor)
