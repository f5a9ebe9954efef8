"""Where canonical weights live in a model of JAX, and the way to and from its layouts. Both styles keep an array at
the same path: the scopes of its layer, and flax's name for it."""

from typing import Any, Dict, Iterator, NamedTuple, Optional, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._common.channels_last import Layout, feature_orders
from photofinish.frameworks._common.places import reset_first
from photofinish.frameworks._flax.use import native_name
from photofinish.graph import Graph

NORMS = {"weight": "scale", "bias": "bias", "running_mean": "mean", "running_variance": "var"}
OWN_NAMES: Dict[type, Dict[str, str]] = {  # the layer's name for an array -> flax's; else "kernel" and "bias"
    layers.Embedding: {"weight": "embedding"},
    layers.EmbeddingBag: {"weight": "embedding"},
    layers.BatchNorm: NORMS,
    layers.LayerNorm: NORMS,
    layers.AdditiveAttention: {"weight": "weight", "scale": "scale", "bias": "bias"},
}
ALONE = (layers.ChannelScale, layers.ClassToken, layers.LearnedPositions)  # whose one array is the layer
RECURRENT = {"input_weight": ("dense_i", "kernel"), "recurrent_weight": ("dense_h", "kernel"),
             "input_bias": ("dense_i", "bias"), "recurrent_bias": ("dense_h", "bias")}
KERNELS: Dict[type, Tuple[int, ...]] = {  # the canonical axes of a kernel, in flax's order
    layers.Conv: (2, 3, 1, 0),  # (channels, C / groups, height, width) -> HW, C / groups, channels
    layers.ConvTranspose: (2, 3, 1, 0),  # (C, channels, height, width) -> HW, channels, C
    layers.SequenceConv: (2, 1, 0),
    layers.Linear: (1, 0),
}


class Place(NamedTuple):
    """Where an array lives: the path to it in the tree of weights, its native shape and the way to it. A shared one is
    where its first node has it; of objects flax may keep it where another has it (`aliases`)."""

    path: Tuple[str, ...]
    shape: Tuple[int, ...]
    layout: Layout
    aliases: Tuple[Tuple[str, ...], ...] = ()

    @property
    def everywhere(self) -> Tuple[Tuple[str, ...], ...]:
        """The paths at one of which it is."""
        return (self.path,) + self.aliases


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives."""
    found: Dict[str, Place] = {}
    for name, place in _places(graph):
        first = found.setdefault(name, place)
        if first is not place:
            alias = place.path[:-1] + first.path[-1:]
            found[name] = first._replace(aliases=first.aliases + (alias,))
    return found


def _places(graph: Graph) -> Iterator[Tuple[str, Place]]:
    orders = feature_orders(graph)
    for node in graph.nodes:
        path = tuple(native_name(part) for part in node.name.split("."))
        named = dict(node.parameters + node.state)
        if isinstance(node.layer, layers.Scan):
            for inner, place in _places(node.layer.body):
                group, _, own = inner.partition("/")
                yield "{}/{}".format(group, named[own]), place._replace(path=path + place.path)
            continue
        layer, order = node.layer, orders.get(node.inputs[0])
        for group, declared in (("parameter", layer.parameters(*graph.input_specs(node))),
                                ("state", layer.state(*graph.input_specs(node)))):
            for each in declared:
                layout = _layout(layer, each, order)
                yield "{}/{}".format(group, named[each.name]), Place(
                    path + _own_path(layer, each.name), layout.native(np.empty(each.shape, bool)).shape, layout)


def _own_path(layer: Any, own: str) -> Tuple[str, ...]:
    """What flax calls an array of a layer."""
    if isinstance(layer, ALONE):
        return ()
    if isinstance(layer, layers.Recurrent):
        _, backward, name = own.rpartition("backward_")
        # nnx's LSTM cell has its one bias beside the state's kernel, its GRU cell beside the input's
        alone = ("dense_h" if isinstance(layer, layers.LSTM) else "dense_i", "bias")
        return ("back" if backward else "ahead",) + RECURRENT.get(name, alone)
    return (OWN_NAMES.get(type(layer), {"weight": "kernel", "bias": "bias"})[own],)


def _layout(layer: Any, declared: layers.Parameter, order: Optional[np.ndarray]) -> Layout:
    shape, own = declared.shape, declared.name
    if isinstance(layer, layers.Recurrent):
        gates = None
        if isinstance(layer, layers.GRU):
            gates = reset_first(layer.features)
        return Layout(shape, (1, 0) if own.endswith("_weight") else (), order=gates)
    axes = KERNELS.get(type(layer), ()) if own == "weight" else ()
    moved = declared.feature_axis is not None and order is not None
    return Layout(shape, axes, axis=declared.feature_axis or 0, order=order if moved else None)

