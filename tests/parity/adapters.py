"""What tests of single adapters share: graphs on small images, and contestants in double precision beside NumPy's."""

from collections.abc import Callable
from typing import Any

import numpy as np

from photofinish import data, weights
from photofinish.frameworks import Arrays, Contestant, Setup
from photofinish.frameworks.numpy import Contestant as Reference
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.measure import probes
from photofinish.optimizers import SGD, Optimizer
from photofinish.referee import audit
from photofinish.vocabulary import batch_norm, block, conv, flatten, linear, max_pool, relu

BATCH = 4


def image_graph(function: Callable[[Tensor], Any], shape: tuple[int, ...] = (3, 8, 6)) -> Graph:
    """A graph on images whose first output is trained to classify."""
    def model(image: Tensor) -> Any:
        outputs = function(image)
        logits = outputs[0] if isinstance(outputs, tuple) else outputs
        loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
        return outputs
    return record(model, {"image": Spec("CHW", shape)})


@block
def reduction(x: Tensor) -> Tensor:
    return relu(batch_norm(conv(x, 4, 3, stride=2)))


def small_network(image: Tensor) -> Tensor:
    """Blocks of one kind, groups, and both conventions of running variances."""
    x = reduction(reduction(image))
    x = batch_norm(conv(x, 8, 3, groups=4), momentum=0.6, running_variance="population")
    return linear(flatten(max_pool(x, 3, 2, padding=1)), 5)


SMALL = image_graph(small_network)


def assert_near(seen: Arrays, exact: Arrays, tolerance: float = 1e-12) -> None:
    """Errors relative to the largest element of any tensor: an exact zero is noise of the others' size."""
    assert seen.keys() == exact.keys()
    scale = max(float(np.abs(values).max()) for values in exact.values())
    for name, values in exact.items():
        np.testing.assert_allclose(seen[name], values, rtol=0, atol=tolerance * scale, err_msg=name)


class Adapter:
    """What makes its contestants, and the mode they are made in unless another is asked for."""

    def __init__(self, maker: Callable[[Setup], Contestant], mode: str) -> None:
        self.maker, self.mode = maker, mode

    def built(self, graph: Graph, mode: str = "", optimizer: Optimizer | None = SGD(),  # noqa: B008
              precision: str = "float64") -> tuple[Any, Any]:
        """A contestant with perturbed weights, and a batch."""
        contestant = self.maker(Setup(mode or self.mode, precision=precision))
        contestant.build(graph, BATCH, optimizer)
        contestant.put(weights.perturbed_state(graph))
        return contestant, contestant.feed(data.draw_batch(graph, BATCH, seed=1))

    def assert_same_gradients(self, graph: Graph, mode: str = "") -> None:
        (ours, batch), (exact, same) = self.built(graph, mode), reference(graph)
        assert_near(ours.gradients(batch), exact.gradients(same))
        assert_near(ours.read(ours.infer(batch)), exact.read(exact.infer(same)))

    def assert_same_steps(self, mode: str, optimizer: Optimizer) -> None:
        """Ten of them, and what they leave. Without momentum these frameworks keep no velocity."""
        (ours, batch), (exact, same) = self.built(SMALL, mode, optimizer), reference(SMALL, optimizer)
        for _ in range(10):
            assert_near(ours.read(ours.train_step(batch)), exact.read(exact.train_step(same)))
        expected = exact.get()
        if isinstance(optimizer, SGD) and optimizer.momentum == 0:
            expected = {name: values for name, values in expected.items() if not name.startswith("velocity/")}
        assert ours.get()["step"] == 10
        assert_near(ours.get(), expected)
        assert_near(ours.read(ours.infer(batch)), exact.read(exact.infer(same)))

    def assert_coarser_products(self, mode: str, form: str) -> None:
        """Products lose the bits that the format lacks; what is learned and what comes out stay in float32."""
        (ours, batch), (exact, same) = self.built(SMALL, mode, precision="float32"), reference(SMALL)
        for primitive in ("matmul", "conv"):
            assert audit._precision(probes.precision(ours, primitive)) == form
        loss, expected = (each.gradients(given)["loss"] for each, given in ((ours, batch), (exact, same)))
        assert 1e-5 < abs(loss / expected - 1) < 0.1
        assert {values.dtype for values in ours.read(ours.infer(batch)).values()} == {np.dtype("float32")}
        ours.train_step(batch)
        assert {values.dtype for name, values in ours.get().items() if name != "step"} == {np.dtype("float32")}


def reference(graph: Graph, optimizer: Optimizer | None = SGD()) -> tuple[Any, Any]:  # noqa: B008
    return Adapter(Reference, "reference").built(graph, optimizer=optimizer)
