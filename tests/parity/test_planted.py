"""Slow layers planted in real frameworks: they compute what they did, and are seen where they were planted."""

from importlib import import_module

import numpy as np
import pytest

from photofinish import data, weights
from photofinish.frameworks import Setup, Unsupported
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.measure.engine import Engine
from photofinish.measure.profile import profile
from photofinish.measure.sabotage import Sabotaged
from photofinish.optimizers import SGD
from photofinish.values.profile import COPIES, KERNELS, PLACES
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear, relu

BATCH, COPIED, WIDENED = 8, {"copies": "20"}, {"float64": "Conv:8x32x32"}
CONTENDERS = ("torch:eager", "tensorflow:graph", "tensorflow:eager")


def network(image: Tensor) -> Tensor:
    logits = linear(global_average_pool(conv(relu(batch_norm(conv(image, 8, 3))), 4, 3)), 4)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


@pytest.fixture(scope="module")
def graph() -> Graph:
    return record(network, {"image": Spec("CHW", (3, 32, 32))})


def engine(graph: Graph, plan: dict[str, str], contender: str, planted_as: str = "") -> Engine:
    """`planted_as` is the framework whose way of planting is taken, that contender's own by default."""
    framework, _, mode = contender.partition(":")
    pytest.importorskip(framework, reason=f"{framework} is not installed")
    contestant = import_module(f"photofinish.frameworks.{framework}").Contestant(Setup(mode, {}, threads=1))
    contestant = Sabotaged(contestant, plan, planted_as or framework)
    contestant.build(graph, BATCH, SGD())
    state = weights.initial_state(graph, 1)
    contestant.put(state)
    return Engine(contestant, state, [contestant.feed(data.draw_batch(graph, BATCH, 1))])


@pytest.mark.parametrize("plan", [COPIED, WIDENED])
@pytest.mark.parametrize("contender", CONTENDERS)
def test_a_slow_layer_computes_what_it_did(graph: Graph, contender: str, plan: dict[str, str]) -> None:
    plain, planted = (engine(graph, each, contender).contestant for each in ({}, plan))
    batch = data.draw_batch(graph, BATCH, 1)
    expected, found = (each.gradients(each.feed(batch)) for each in (plain, planted))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_allclose(found[name], values, rtol=1e-3, atol=1e-5, err_msg=name)
    assert planted.get().keys() == plain.get().keys()


@pytest.mark.parametrize("contender", CONTENDERS)
def test_copies_are_what_a_step_does_then_by_the_profiler(graph: Graph, contender: str) -> None:
    """By rank: of all places copies grew most, in the quickest of the steps, however long they take."""
    wide = record(network, {"image": Spec("CHW", (3, 192, 192))})  # copies outweigh their dispatch
    framework = contender.partition(":")[0]
    plain, planted = (profile(engine(wide, each, contender), framework, "infer", 5)["profiled"]
                      for each in ({}, COPIED))
    grown = {place: min(step["where"][place] for step in planted) - min(step["where"][place] for step in plain)
             for place in PLACES if place != KERNELS}
    assert max(grown, key=grown.__getitem__) == COPIES
    layers = 4  # at least: an activation may be a function, or a layer
    assert planted[0]["kernels"] - plain[0]["kernels"] >= 20 * layers


def test_one_layer_alone_of_torch_computes_in_double_precision(graph: Graph) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    seen: list[str] = []

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if function is torch.conv2d:
                seen.append(str(args[0].dtype))
            return function(*args, **(kwargs or {}))

    planted = engine(graph, WIDENED, "torch:eager")
    with Watch():
        planted.step("infer")
    assert seen == ["torch.float32", "torch.float64"]


def test_one_layer_alone_of_tensorflow_computes_in_double_precision(graph: Graph) -> None:
    planted = engine(graph, WIDENED, "tensorflow:graph")
    planted.step("infer")
    (traced,) = planted.contestant.bound.values()
    operations = traced.graph.get_operations()
    assert [each.inputs[0].dtype.name for each in operations if each.type == "Conv2D"] == ["float32", "float64"]


@pytest.mark.parametrize(("contender", "alone"), [
    ("torch:bf16", "torch:eager alone"), ("tensorflow:xla", "tensorflow:eager and tensorflow:graph alone")])
def test_what_cannot_be_planted_is_refused(graph: Graph, contender: str, alone: str) -> None:
    with pytest.raises(Unsupported, match=alone):
        engine(graph, COPIED, contender)
    changeable = "torch:eager" if contender.startswith("torch") else "tensorflow:graph"
    with pytest.raises(Unsupported, match="batch_norm1 cannot be widened"):
        engine(graph, {"float64": "BatchNorm:8x32x32"}, changeable)
    with pytest.raises(Unsupported, match="in chainer nothing can be planted"):
        engine(graph, COPIED, changeable, planted_as="chainer")


def test_a_function_of_torch_is_no_layer_to_be_widened(graph: Graph) -> None:
    with pytest.raises(Unsupported, match="relu1 cannot be widened"):
        engine(graph, {"float64": "Relu"}, "torch:eager")
