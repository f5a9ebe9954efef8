"""What examples of layers are made of: see cases in tests/parity and the families beside this file."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from photofinish import data, weights
from photofinish.graph import Graph, Tensor, loss
from photofinish.layers import Layer, SoftmaxCrossEntropy, Spec
from photofinish.vocabulary import flatten, linear

BATCH = 8
CLASSES = 5
LABEL = Spec("", (), "int32")
CROSS_ENTROPY = SoftmaxCrossEntropy()


@dataclass(frozen=True)
class Case:
    """A graph and the arrays it runs on. `gain` multiplies the inputs, to reach where a layer bends."""

    graph: Graph
    gain: float = 1.0

    @property
    def state(self) -> weights.Arrays:
        return weights.perturbed_state(self.graph, seed=1)

    @property
    def batch(self) -> weights.Arrays:
        drawn = data.draw_batch(self.graph, BATCH, seed=2)
        inputs = dict(self.graph.inputs)
        return {name: (values * np.float32(self.gain) if name in inputs and values.dtype == np.float32 else values)
                for name, values in drawn.items()}

    @property
    def kinds(self) -> set[str]:
        """The layer kinds it exercises, those of its losses and of a Scan's body included."""
        return _kinds(self.graph)


def _kinds(graph: Graph) -> set[str]:
    used = {type(node.layer).__name__ for node in graph.nodes} | {type(term.layer).__name__ for term in graph.losses}
    return used.union(*(_kinds(node.layer.body) for node in graph.nodes if hasattr(node.layer, "body")))


def head(x: Tensor, objective: Layer = CROSS_ENTROPY, weight: float = 1.0, name: str = "head") -> Tensor:
    """Logits of any tensor, with their loss."""
    logits = linear(x if x.spec.axes == "C" else flatten(x), CLASSES, name=name)
    loss(objective, logits, "label", LABEL, weight)
    return logits


def between(function: Callable[[Tensor], Tensor], entry: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """A model that enters, does it, and ends in `head`; its outputs are what was done and the logits."""
    def model(x: Tensor) -> tuple[Tensor, Tensor]:
        y = function(entry(x))
        return y, head(y)
    return model
