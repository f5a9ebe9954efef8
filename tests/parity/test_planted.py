"""Slow layers planted in a real framework: they compute what they did, and are seen where they were planted."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from photofinish import data, weights  # noqa: E402
from photofinish.frameworks import Setup, Unsupported  # noqa: E402
from photofinish.frameworks.torch import Contestant  # noqa: E402
from photofinish.graph import Graph, Tensor, loss, record  # noqa: E402
from photofinish.layers import SoftmaxCrossEntropy, Spec  # noqa: E402
from photofinish.measure.engine import Engine  # noqa: E402
from photofinish.measure.profile import profile  # noqa: E402
from photofinish.measure.sabotage import Sabotaged  # noqa: E402
from photofinish.optimizers import SGD  # noqa: E402
from photofinish.values.profile import COPIES, KERNELS, PLACES  # noqa: E402
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear, relu  # noqa: E402

BATCH, COPIED, WIDENED = 8, {"copies": "20"}, {"float64": "Conv:8x32x32"}


def network(image: Tensor) -> Tensor:
    logits = linear(global_average_pool(conv(relu(batch_norm(conv(image, 8, 3))), 4, 3)), 4)
    loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
    return logits


@pytest.fixture(scope="module")
def graph() -> Graph:
    return record(network, {"image": Spec("CHW", (3, 32, 32))})


def engine(graph: Graph, plan: dict[str, str], mode: str = "eager", framework: str = "torch") -> Engine:
    contestant = Sabotaged(Contestant(Setup(mode, {}, threads=1)), plan, framework)
    contestant.build(graph, BATCH, SGD())
    state = weights.initial_state(graph, 1)
    contestant.put(state)
    return Engine(contestant, state, [contestant.feed(data.draw_batch(graph, BATCH, 1))])


@pytest.mark.parametrize("plan", [COPIED, WIDENED])
def test_a_slow_layer_computes_what_it_did(graph: Graph, plan: dict[str, str]) -> None:
    plain, planted = (engine(graph, each).contestant for each in ({}, plan))
    batch = data.draw_batch(graph, BATCH, 1)
    expected, found = (each.gradients(each.feed(batch)) for each in (plain, planted))
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_allclose(found[name], values, rtol=1e-3, atol=1e-5, err_msg=name)
    assert planted.get().keys() == plain.get().keys()


def test_copies_are_what_a_step_does_then_by_the_profiler(graph: Graph) -> None:
    """By rank: of all places copies grew most, in the quickest of the steps, however long they take."""
    wide = record(network, {"image": Spec("CHW", (3, 96, 96))})
    plain, planted = (profile(engine(wide, each), "torch", "infer", 5)["profiled"] for each in ({}, COPIED))
    grown = {place: min(step["where"][place] for step in planted) - min(step["where"][place] for step in plain)
             for place in PLACES if place != KERNELS}
    assert max(grown, key=grown.__getitem__) == COPIES
    modules, extra = 4, planted[0]["kernels"] - plain[0]["kernels"]
    assert extra >= 20 * modules


def test_one_layer_alone_computes_in_double_precision(graph: Graph) -> None:
    seen: list[tuple[str, torch.dtype]] = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            if function is torch.conv2d:
                seen.append(("conv", args[0].dtype))
            return function(*args, **(kwargs or {}))

    planted = engine(graph, WIDENED)
    with Watch():
        planted.step("infer")
    assert seen == [("conv", torch.float32), ("conv", torch.float64)]


def test_what_cannot_be_planted_is_refused(graph: Graph) -> None:
    with pytest.raises(Unsupported, match="torch:eager alone"):
        engine(graph, COPIED, mode="bf16")
    with pytest.raises(Unsupported, match="relu1 cannot be widened"):
        engine(graph, {"float64": "Relu"})
    with pytest.raises(Unsupported, match="batch_norm1 cannot be widened"):
        engine(graph, {"float64": "BatchNorm:8x32x32"})
    with pytest.raises(Unsupported, match="in chainer nothing can be planted"):
        engine(graph, COPIED, framework="chainer")
