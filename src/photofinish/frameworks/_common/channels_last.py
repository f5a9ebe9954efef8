"""Layouts with the channels last, and the way between canonical arrays and theirs."""

from typing import Dict, Optional, Set, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import flattened_order
from photofinish.graph import Graph, Node
from photofinish.layers import Spec


def native_axes(axes: str) -> str:
    """Channels last: "CHW" -> "HWC"."""
    return axes.replace("C", "") + "C" if "C" in axes else axes


def native_shape(spec: Spec) -> Tuple[int, ...]:
    return tuple(spec.size(axis) for axis in native_axes(spec.axes))


def to_native(array: np.ndarray, spec: Spec) -> np.ndarray:
    """A batch of a tensor, its channels put last."""
    return array.transpose([0] + [1 + spec.axes.index(axis) for axis in native_axes(spec.axes)])


def to_canonical(array: np.ndarray, spec: Spec, order: Optional[np.ndarray] = None) -> np.ndarray:
    """A batch of a tensor, its channels put where the graph has them. `order` is that of its features, if they lie in
    another (see `feature_orders`)."""
    if order is not None:
        return array.take(np.argsort(order), 1)
    native = native_axes(spec.axes)
    return np.ascontiguousarray(array.transpose([0] + [1 + native.index(axis) for axis in spec.axes]))


class Layout:
    """The way between a canonical array and its native layout: along `axis` its entries are put in native order (native
    entry i is canonical entry order[i]), then it is seen in the shape `view`, and its axes permuted. No layout has both
    an order and a view."""

    def __init__(self, shape: Tuple[int, ...], axes: Tuple[int, ...] = (), view: Optional[Tuple[int, ...]] = None,
                 axis: int = 0, order: Optional[np.ndarray] = None) -> None:
        self.shape = shape
        self.view = view or shape
        self.axes = axes or tuple(range(len(self.view)))
        self.axis = axis
        self.order = order

    def native(self, array: np.ndarray) -> np.ndarray:
        if self.order is not None:
            array = array.take(self.order, self.axis)
        return array.reshape(self.view).transpose(self.axes)

    def canonical(self, array: np.ndarray) -> np.ndarray:
        if self.order is not None:  # before its axes are permuted: an array in C order gives whole rows
            array = array.take(np.argsort(self.order), self.axes.index(self.axis))
        return array.transpose(np.argsort(self.axes)).reshape(self.shape)


def owns(node: Node) -> bool:
    """True unless the node's parameters are another node's (tied weights)."""
    return all(name == "{}.{}".format(node.name, own) for own, name in node.parameters)


def shared_nodes(graph: Graph) -> Set[str]:
    """The nodes whose parameters other nodes use too."""
    return {name.rpartition(".")[0] for node in graph.nodes for own, name in node.parameters
            if name != "{}.{}".format(node.name, own)}


def reorders(spec: Spec) -> bool:
    """Whether flattening a tensor with its channels last gives its features in another order than the canonical."""
    return bool(np.any(np.diff(flattened_order(spec.shape, spec.axes, native_axes(spec.axes))) != 1))


def feature_orders(graph: Graph) -> Dict[str, np.ndarray]:
    """Tensors whose features lie in another order than the canonical one, because an image was flattened
    channels last: native feature i is canonical feature order[i]. Absent: the canonical order.

    Only layers whose parameters can be permuted instead may see such a tensor: where another one would (a Slice),
    the flattened image is transposed first and the tensor is not in here.
    """
    fixed = {term.prediction for term in graph.losses}  # labels count classes
    shared = shared_nodes(graph)
    for node in reversed(graph.nodes):
        own = node.layer.parameters(*graph.input_specs(node))
        follows = isinstance(node.layer, (layers.Elementwise, layers.BatchNorm, layers.Flatten)) and all(
            each.feature_axis is not None for each in own)
        permutable = isinstance(node.layer, layers.Linear) and owns(node) and node.name not in shared
        if not (follows or permutable) or (follows and node.outputs[0] in fixed):
            fixed.update(node.inputs)
    orders: Dict[str, np.ndarray] = {}
    for node in graph.nodes:
        (tensor, spec), target = (node.inputs[0], graph.spec(node.inputs[0])), node.outputs[0]
        if isinstance(node.layer, layers.Flatten) and len(spec.axes) > 1:
            if target not in fixed and reorders(spec):
                orders[target] = flattened_order(spec.shape, spec.axes, native_axes(spec.axes))
        elif isinstance(node.layer, (layers.Elementwise, layers.BatchNorm, layers.Flatten)) and tensor in orders:
            orders[target] = orders[tensor]
    return orders
