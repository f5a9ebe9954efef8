"""The as-shipped twin: a model as keras.applications builds it, in the place of ours.

It is built untrained, without a download. Where the model family says how Keras names its layers, the twin takes the
graph's weights and is proven like ours; where it does not, or the two do not fit, the twin keeps weights of its own and
says how it differs.
"""

import importlib
from collections import Counter
from types import SimpleNamespace
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import MISFIT, Arrays, Differences, Unsupported, among, counted, differences, drop_rates
from photofinish.frameworks._common.channels_last import Layout, native_shape
from photofinish.frameworks._common.text import call
from photofinish.frameworks._keras import numbered
from photofinish.frameworks._keras.halves import apart, joined
from photofinish.frameworks._keras.weights import Place, places
from photofinish.graph import Graph

SOURCE = "keras.applications"


class Shipped:
    """The twin that `spelled` ("keras.applications:ResNet50") says. `names` are what it calls the layers of the graph.

    Raises WrongUse if there is no such model.
    """

    def __init__(self, spelled: str, names: Dict[str, str]) -> None:
        self.name = spelled.partition(":")[2]
        self.names = names
        self.differences: Differences = []
        self.weights: Arrays = {}  # its own, where it cannot take the graph's
        applications: Any = importlib.import_module(SOURCE)
        among(self.name, [each for each in dir(applications) if each[0].isupper()], SOURCE)

    def facts(self) -> Dict[str, str]:
        version: str = importlib.import_module("keras").__version__  # type: ignore[attr-defined]
        return {"build": "{}:{}".format(SOURCE, self.name), "build_version": version}

    def expression(self, graph: Graph) -> str:
        """The code that makes it; nothing for the small graph by which dropout is proven: that is Keras' layer in both.

        Raises Unsupported where the graph is no classifier of one image.
        """
        if self._is_probe(graph):
            return ""
        (_, image), spec = graph.inputs[0], graph.spec(graph.outputs[0])
        if len(graph.inputs) != 1 or image.axes != "CHW" or len(graph.outputs) != 1 or spec.axes != "C":
            raise Unsupported("{} has classifiers of images only".format(SOURCE))
        return call("{}.{}".format(SOURCE, self.name), weights=str(None), input_shape=native_shape(image),
                    classes=spec.size("C"), classifier_activation=str(None)).replace('"None"', "None")

    def places(self, model: Any, graph: Graph) -> Dict[str, Place]:
        """Where it keeps the graph's arrays, or its own where the two do not fit."""
        if self._is_probe(graph):
            return places(graph, model)
        drawing = [layer for layer in model.layers if type(layer).__name__ == "Dropout" and layer.rate]
        drawn = Counter(("StochasticDepth" if layer.noise_shape else "Dropout", layer.rate) for layer in drawing)
        asked = drop_rates(graph)
        if asked and not any(rate for _, rate in asked):  # silenced for a proof
            for layer in drawing:
                layer.rate = 0.0
            drawn.clear()
        called = self._called(model)
        parted = SimpleNamespace(variables=apart(model.variables, called.values()))
        found = joined(places(graph, parted, called))
        why = _misfit(model, graph, found)
        if why is None and Counter(each for each in asked if each[1]) != drawn:
            why = "dropout", counted(Counter(each for each in asked if each[1])), counted(drawn)
        self.differences, self.weights = [], {}
        if why is not None:
            kinds = [type(layer).__name__ for layer in model.layers if layer.trainable_weights]
            trained = sum(int(np.prod(each.shape)) for each in model.trainable_variables)
            self.differences = differences(graph, why, trained, _macs(model), kinds)
            found = {"{}/{}".format("parameter" if each.trainable else "state", each.path):
                     Place(each, Layout(tuple(each.shape)))
                     for each in model.variables if each.dtype.startswith("float")}
            self.weights = {name: place.variable.numpy() for name, place in found.items()}
        return found

    def _called(self, model: Any) -> Dict[str, str]:
        """What this model calls the layers of the graph: those that Keras numbers, by their places among them."""
        first = numbered.as_first(layer.name for layer in model.layers)
        here = {name: own for own, name in first.items()}
        return {layer: here.get(name, name) for layer, name in self.names.items()}

    def _is_probe(self, graph: Graph) -> bool:
        return bool(self.names) and not any(node.name in self.names for node in graph.nodes)


def _misfit(model: Any, graph: Graph, found: Dict[str, Place]) -> Optional[Tuple[str, str, str]]:
    """The first array that the two do not share: what it is, ours and theirs."""
    for group, declared in (("parameter", graph.parameters), ("state", graph.state)):
        for name, each in declared.items():
            place = found.get("{}/{}".format(group, name))
            ours = "{} {}".format(name, _times(each.shape))
            if place is None:
                return MISFIT, ours, "no map names it"
            if place.native(np.empty(each.shape, np.bool_)).shape != tuple(place.variable.shape):
                return MISFIT, ours, "{} {}".format(place.variable.path, _times(place.variable.shape))
    used = {place.variable.path for place in found.values()}
    for variable in model.trainable_variables:
        if variable.path not in used:
            return MISFIT, "none", "{} {}".format(variable.path, _times(variable.shape))
    return None


def _macs(model: Any) -> int:
    """Multiply-accumulates of one sample in convolutions and matrix products with weights."""
    macs = 0
    for layer in model.layers:
        kernels: List[Any] = [each for each in layer.trainable_weights if "kernel" in each.path.rpartition("/")[2]]
        positions = int(np.prod(layer.output.shape[1:-1])) if kernels else 0
        macs += sum(positions * int(np.prod(each.shape)) for each in kernels)
    return macs


def _times(shape: Any) -> str:
    return "x".join(map(str, shape))
