"""Where canonical weights live in a module of MLX, and the way to and from its layouts."""

from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._common.channels_last import Layout, feature_orders
from photofinish.frameworks._mlx.use import native_name
from photofinish.graph import Graph

ALONE = (layers.ChannelScale, layers.ClassToken, layers.LearnedPositions)  # whose one array is the layer
RECURRENT = {"input_weight": "Wx", "recurrent_weight": "Wh", "input_bias": "bias"}  # as nn.LSTM calls them
KERNELS: Dict[type, Tuple[int, ...]] = {  # the canonical axes of a kernel, in MLX's order
    layers.Conv: (0, 2, 3, 1),  # (channels, C / groups, height, width) -> channels, HW, C / groups
    layers.ConvTranspose: (1, 2, 3, 0),  # (C, channels, height, width) -> channels, HW, C
    layers.SequenceConv: (0, 2, 1),
}


class Place(NamedTuple):
    """Where an array lives: the path to it in the tree of modules, and the way to its native layout."""

    path: Tuple[str, ...]
    layout: Layout


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives; a shared one is where its first node has it."""
    found: Dict[str, Place] = {}
    orders = feature_orders(graph)
    for node in graph.nodes:
        path, named = native_path(node.name), dict(node.parameters + node.state)
        if isinstance(node.layer, layers.Scan):
            for inner, place in places(node.layer.body).items():
                group, _, own = inner.partition("/")
                found.setdefault("{}/{}".format(group, named[own]), place._replace(path=path + place.path))
            continue
        specs = graph.input_specs(node)
        for group, declared in (("parameter", node.layer.parameters(*specs)), ("state", node.layer.state(*specs))):
            for each in declared:
                found.setdefault("{}/{}".format(group, named[each.name]), Place(
                    path + _own_path(node.layer, each.name), _layout(node.layer, each, orders.get(node.inputs[0]))))
    return found


def native_path(name: str) -> Tuple[str, ...]:
    return tuple(native_name(part) for part in name.split("."))


def _own_path(layer: Any, own: str) -> Tuple[str, ...]:
    """What MLX calls an array of a layer."""
    if isinstance(layer, ALONE):
        return ()
    if isinstance(layer, layers.Recurrent):
        _, backward, name = own.rpartition("backward_")
        direction = (("back" if backward else "ahead"),) if layer.bidirectional else ()
        return direction + (RECURRENT.get(name, name),)
    return ({"running_variance": "running_var"}.get(own, own),)


def _layout(layer: Any, declared: layers.Parameter, order: Optional[np.ndarray]) -> Layout:
    axes = KERNELS.get(type(layer), ()) if declared.name == "weight" else ()
    moved = declared.feature_axis is not None and order is not None
    return Layout(declared.shape, axes, axis=declared.feature_axis or 0, order=order if moved else None)
