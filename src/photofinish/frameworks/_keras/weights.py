"""Where canonical weights live in a Keras model, and the way to and from its layouts."""

from typing import Any, Dict, Iterator, Optional, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._keras.convolution import is_depthwise
from photofinish.frameworks._keras.source import feature_orders
from photofinish.graph import Graph, Node
from photofinish.layers import Spec

OWN_NAMES = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "weight": "weight", "beta": "bias",
             "bias": "bias", "moving_mean": "running_mean",
             "moving_variance": "running_variance"}  # Keras' -> the graph's


class Place:
    """Where the array of a parameter or state lives: a Keras variable and the way to and from its layout.

    A canonical array is put in native feature order, seen in the shape `view`, and its axes permuted.
    """

    def __init__(self, variable: Any, shape: Tuple[int, ...], view: Optional[Tuple[int, ...]] = None,
                 axes: Tuple[int, ...] = (), feature_axis: Optional[int] = None,
                 order: Optional[np.ndarray] = None) -> None:
        self.variable = variable
        self.shape = shape
        self.view = view or shape
        self.axes = axes or tuple(range(len(self.view)))
        self.feature_axis = feature_axis or 0
        self.order = None if feature_axis is None else order

    def native(self, array: np.ndarray) -> np.ndarray:
        if self.order is not None:
            array = array.take(self.order, self.feature_axis)
        return array.reshape(self.view).transpose(self.axes)

    def canonical(self, array: np.ndarray) -> np.ndarray:
        array = np.asarray(array).transpose(np.argsort(self.axes)).reshape(self.shape)
        return array if self.order is None else array.take(np.argsort(self.order), self.feature_axis)


def _owners(graph: Graph, prefix: str = "") -> Iterator[Tuple[str, Node, Spec, Optional[np.ndarray]]]:
    """Every node that may own arrays, the bodies of scans included: name, node, input and feature order."""
    orders = feature_orders(graph)
    for node in graph.nodes:
        yield prefix + node.name, node, graph.spec(node.inputs[0]), orders.get(node.inputs[0])
        if isinstance(node.layer, layers.Scan):
            for owner in _owners(node.layer.body, prefix + node.name + "."):
                yield owner


def places(graph: Graph, model: Any) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives, found by the names of Keras' layers."""
    owners = {name: (node, spec, order) for name, node, spec, order in _owners(graph)}
    found = {}
    for variable in model.variables:
        path, own = variable.path.split("/")[-2:]
        if path not in owners:
            continue  # the state of a random generator
        node, spec, order = owners[path]
        layer = node.layer
        own = OWN_NAMES[own]
        group = "parameter" if variable.trainable else "state"
        declared = {each.name: each for each in layer.parameters(spec) + layer.state(spec)}[own]
        view, axes = None, ()  # type: Optional[Tuple[int, ...]], Tuple[int, ...]
        if isinstance(layer, layers.Conv) and own == "weight":
            if is_depthwise(layer, spec):  # (channels, 1, height, width) -> HWC and multiplier
                view, axes = (layer.groups, -1) + layer.kernel, (2, 3, 0, 1)
            else:
                axes = (2, 3, 1, 0)
        elif isinstance(layer, layers.ConvTranspose) and own == "weight":
            axes = (2, 3, 1, 0)  # (C, channels, height, width) -> HW, channels, C
        elif isinstance(layer, layers.Linear) and own == "weight":
            axes = (1, 0)
        found["{}/{}.{}".format(group, path, own)] = Place(
            variable, declared.shape, view, axes, declared.feature_axis, order)
    return found
