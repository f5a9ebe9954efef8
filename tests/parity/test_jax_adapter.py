"""What is particular to JAX's adapter: two styles of one model, donated buffers, random keys, flax's conventions."""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("jax") is None or importlib.util.find_spec("flax") is None:
    pytest.skip("JAX and flax are not installed", allow_module_level=True)

from parity.adapters import BATCH, SMALL, Adapter, assert_near, image_graph, reduction, reference
from photofinish import data, weights
from photofinish.frameworks import Setup, Unsupported, native_source
from photofinish.frameworks._flax import plain
from photofinish.frameworks._flax.weights import places
from photofinish.frameworks.jax import Contestant
from photofinish.graph import Tensor, apply, loss, record
from photofinish.layers import Scan, SoftmaxCrossEntropy, Spec
from photofinish.optimizers import SGD, Adam, Optimizer
from photofinish.vocabulary import (
    batch_norm,
    block,
    clip,
    concat,
    conv,
    dropout,
    embedding,
    flatten,
    global_average_pool,
    linear,
    lstm,
    masked_mean,
    max_pool,
    relu,
    relu6,
    tanh,
)

MODES = ["jit", "plain"]
LABEL = Spec("", (), "int32")
ADAPTER = Adapter(Contestant, "jit")
built, assert_same_gradients = ADAPTER.built, ADAPTER.assert_same_gradients


@pytest.mark.parametrize(("mode", "optimizer"), [
    ("jit", SGD(0.05, 0.9)), ("plain", SGD(0.05, 0.0)), ("jit", Adam(1e-2, epsilon=1e-3)),
    ("plain", Adam(1e-2, epsilon=1e-3))], ids=str)
def test_ten_steps_in_double_precision_are_numpys(mode: str, optimizer: Optimizer) -> None:
    ADAPTER.assert_same_steps(mode, optimizer)


@pytest.mark.parametrize("mode", MODES)
def test_a_step_that_was_waited_for_has_left_its_weights(mode: str) -> None:
    import jax
    contestant, batch = built(image_graph(lambda x: linear(flatten(relu(linear(flatten(x), 4096))), 4096)), mode)
    contestant.wait(contestant.train_step(batch))
    handle = contestant.train_step(batch)
    contestant.wait(handle)
    left = [leaf for leaf in jax.tree.leaves((handle, contestant.weights, contestant.memory))
            if not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)]
    assert len(left) > 4 and all(leaf.is_ready() for leaf in left)


def test_bf16_computes_with_coarser_products_and_keeps_what_it_learns_in_float32() -> None:
    ADAPTER.assert_coarser_products("bf16", "bfloat16")


@pytest.mark.parametrize("mode", MODES)
def test_one_compilation_serves_however_often_state_is_loaded_and_its_buffers_are_donated(mode: str) -> None:
    contestant, batch = built(SMALL, mode, Adam(), precision="float32")
    start = contestant.get()
    losses = []
    for _ in range(3):
        contestant.put(start)
        before = contestant.weights
        losses.append([float(contestant.read(contestant.train_step(batch))["loss"]) for _ in range(3)])
        contestant.wait(contestant.infer(batch))
    assert losses[0] == losses[1] == losses[2]
    assert losses[0][0] != losses[0][1]
    seen = contestant.evidence()
    assert seen["train_step"]["compilations"] == seen["infer"]["compilations"] == 1
    assert seen["train_step"]["fused_kernels"] > 0
    arrays = 3 * len(SMALL.parameters) + len(SMALL.state)
    assert arrays <= seen["train_step"]["donated_buffers"] <= seen["train_step"]["buffers"]
    assert seen["infer"]["donated_buffers"] == 0
    import jax
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before) if leaf.ndim)


def test_a_state_put_elsewhere_continues_in_the_other_style() -> None:
    """Slots, the step count and half-converted variances survive the way through `get` and `put`."""
    optimizer = Adam(1e-2)
    (first, batch), (exact, same) = built(SMALL, "jit", optimizer), reference(SMALL, optimizer)
    for _ in range(2):
        first.train_step(batch)
        exact.train_step(same)
    second, _ = built(SMALL, "plain", optimizer)
    second.put(first.get())
    second.train_step(batch)
    exact.train_step(same)
    assert_near(second.get(), exact.get())


@pytest.mark.parametrize("mode", MODES)
def test_gradients_leave_nothing_behind_and_need_no_optimizer(mode: str) -> None:
    (ours, batch), (exact, same) = built(SMALL, mode, optimizer=None), reference(SMALL, None)
    before = ours.get()
    assert_near(ours.gradients(batch), exact.gradients(same))
    after = ours.get()
    assert [name for name in before if not np.array_equal(before[name], after[name])] == []
    with pytest.raises(Unsupported, match="optimizer"):
        ours.train_step(batch)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("convention", ["sample", "population"])
def test_running_variance_is_in_the_graphs_convention(convention: str, mode: str) -> None:
    """Four values per channel and batch: n / (n - 1) is 4/3, and no tolerance could hide it."""
    graph = image_graph(lambda image: linear(batch_norm(
        global_average_pool(image), momentum=0.7, running_variance=convention), 5))
    (ours, batch), (exact, same) = built(graph, mode), reference(graph)
    variance = "state/batch_norm1.running_variance"
    assert np.array_equal(ours.get()[variance], exact.get()[variance])
    for _ in range(3):
        ours.train_step(batch)
        exact.train_step(same)
        np.testing.assert_allclose(ours.get()[variance], exact.get()[variance], rtol=1e-12)
    with pytest.raises(Unsupported, match="one value") if convention == "sample" else pytest.raises(AssertionError):
        Contestant(Setup(mode)).build(graph, 1, SGD())
        raise AssertionError("a population of one has a variance")


FLATTENED: dict[str, tuple[Callable[[Tensor], Any], bool]] = {  # the model, and whether it must transpose
    "then linear": (lambda x: linear(flatten(x), 5), False),
    "through norm and relu": (lambda x: linear(relu(batch_norm(flatten(x))), 5), False),
    "also returned": (lambda x: (linear(relu(flatten(x)), 5), flatten(x)), False),
    "concatenated": (lambda x: linear(concat(flatten(x), flatten(max_pool(x, 2))), 5), True),
    "as logits": (flatten, True),
}


@pytest.mark.parametrize("name", FLATTENED)
def test_flattened_features(name: str) -> None:
    function, transposed = FLATTENED[name]
    graph = image_graph(lambda image: function(conv(image, 2, 1)), (3, 4, 6))
    assert ("jnp.transpose" in native_source("flax", graph)) == transposed
    assert_same_gradients(graph)


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


def tied_in_a_scope(ids: Tensor, mask: Tensor) -> Tensor:
    """The table is the weight of a layer that stands in a scope of its own."""
    @block
    def guess(x: Tensor) -> Tensor:
        return linear(tanh(x), 7, weight="table.weight", name="prediction")

    x = lstm(embedding(ids, 7, 6, name="table"), 6, bidirectional=False)
    logits = guess(masked_mean(x, mask))
    loss(SoftmaxCrossEntropy(), logits, "label", LABEL)
    return logits


@pytest.mark.parametrize("mode", MODES)
def test_a_table_is_tied_to_a_layer_in_another_scope(mode: str) -> None:
    assert_same_gradients(record(tied_in_a_scope, {"ids": Spec("T", (5,), "int32"), "mask": Spec("T", (5,), "bool")}),
                          mode)


def test_scopes_that_are_alike_share_a_class_or_a_function() -> None:
    """A class knows how many channels come in: the first block's is another."""
    graph = image_graph(lambda image: linear(flatten(reduction(reduction(reduction(image)))), 5))
    assert re.findall(r"class (Red\w+)", native_source("flax", graph)) == ["Reduction", "Reduction2"]
    assert re.findall(r"def (red\w+)(.*):", plain.native_source(graph)) == [("reduction", "(p, s, keys, x)")]


@pytest.mark.parametrize("mode", MODES)
def test_names_that_python_or_the_code_needs_are_changed(mode: str) -> None:
    def model(x: Tensor, linear_: Tensor) -> Tensor:
        y = linear(x, 4, name="class") + linear(linear_, 4, name="train")
        logits = linear(y, 5, name="jax") + linear(y * y, 5, name="1st")
        loss(SoftmaxCrossEntropy(), logits, "loss", LABEL)
        return logits
    assert_same_gradients(record(model, {"x": Spec("C", (3,)), "linear": Spec("C", (3,))}), mode)


def test_a_layer_that_cannot_be_had_is_named() -> None:
    step = record(lambda carry, x: (dropout(carry + x, 0.5),) * 2, {"carry": Spec("C", (3,)), "x": Spec("C", (3,))})
    graph = record(lambda carry, x: apply(Scan(step), carry, x, name="walk"),
                   {"carry": Spec("C", (3,)), "x": Spec("TC", (5, 3))})
    for mode in MODES:
        with pytest.raises(Unsupported, match="walk"):
            Contestant(Setup(mode)).build(graph, BATCH)


def test_the_batch_is_a_copy() -> None:
    contestant, _ = built(SMALL)
    arrays = data.draw_batch(SMALL, BATCH, seed=1)
    fed = contestant.feed(arrays)
    before = contestant.gradients(fed)["loss"]
    for values in arrays.values():
        values[:] = 0
    assert contestant.gradients(fed)["loss"] == before


def test_both_styles_have_the_arrays_at_one_path() -> None:
    """So that a checkpoint of one is read by the other."""
    contestants = {mode: built(SMALL, mode)[0] for mode in MODES}
    for name, place in places(SMALL).items():
        for contestant in contestants.values():
            assert contestant.style.paths(name, place)[0][-len(place.path):] == place.path
            assert contestant.handles[name] is not None


def test_probes_compute_what_they_say() -> None:
    contestant = Contestant(Setup("jit"))
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


@pytest.mark.parametrize("threads", [1, 2])
def test_facts_name_what_runs_and_the_pools_have_the_threads_asked_for(threads: int) -> None:
    code = ("import json, sys; from photofinish.frameworks import Setup; "
            "from photofinish.frameworks.jax import Contestant; "
            f"print(json.dumps(Contestant(Setup('jit', threads={threads})).facts()))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    facts = json.loads(run.stdout)
    assert facts["version"].count(".") == facts["optax"].count(".") == 2
    assert facts["thread_pools"] and set(facts["thread_pools"].values()) == {threads}
    assert facts["matmul_precision"] == "highest" and facts["x64"] is False


@pytest.mark.parametrize("setup", [Setup("eager"), Setup("jit", {"layout": "NCHW"}), Setup("jit", device="mps"),
                                   Setup("jit", device="cuda:99"), Setup("jit", precision="bfloat16"),
                                   Setup("jit", threads=7)], ids=str)
def test_what_cannot_be_had_is_refused(setup: Setup) -> None:
    Contestant(Setup("jit")).facts()  # starts the process with one thread
    with pytest.raises(Unsupported):
        Contestant(setup)
