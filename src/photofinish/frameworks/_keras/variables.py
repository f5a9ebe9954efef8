"""Models, variables and averages of Keras 2, as Keras 3 shows its own. Imports no Keras."""

from typing import Any, Callable

import numpy as np

from photofinish.frameworks._common.variances import SampleVariances, positions
from photofinish.graph import Graph
from photofinish.layers import BatchNorm


class Variable:
    """A variable with a path and without a value: a subclass knows where that is."""

    def __init__(self, variable: Any, trainable: bool = False) -> None:
        self.variable = variable
        self.trainable = trainable
        self.path = variable.name.partition(":")[0].replace("depthwise_kernel", "kernel")
        self.shape = tuple(variable.shape.as_list())
        self.dtype = variable.dtype.base_dtype.as_numpy_dtype

    def numpy(self) -> np.ndarray:
        raise NotImplementedError

    def assign(self, value: Any) -> None:
        raise NotImplementedError


class Model:
    """The variables of a Keras model, those to train in the order of its optimizer's slots."""

    def __init__(self, model: Any, shown: Callable[..., Variable]) -> None:
        self.trainable_variables = [shown(each, True) for each in model.trainable_weights]
        self.variables = self.trainable_variables + [shown(each) for each in model.non_trainable_weights]


class Updater:
    """An optimizer's step count."""

    def __init__(self, iterations: Any) -> None:
        self.iterations = iterations


class FusedVariances(SampleVariances):
    """TensorFlow's fused kernel, which normalises images, gives the sample's variance (n - 1); its operations, which
    normalise vectors, the population's (n)."""

    def __init__(self, graph: Graph, batch: int, trains: bool) -> None:
        super().__init__(graph, batch, trains)
        for node in graph.nodes:
            if isinstance(node.layer, BatchNorm) and graph.spec(node.inputs[0]).axes == "CHW":
                name, count = "state/" + dict(node.state)["running_variance"], batch * positions(graph, node)
                self.terms.pop(name, None)
                if node.layer.running_variance == "population":
                    self.terms[name] = (node.layer.momentum, 1 - count)  # makes the share the inverse of itself
