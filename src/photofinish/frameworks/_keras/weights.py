"""Where canonical weights live in a Keras model, and the way to and from its layouts."""

from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._common.channels_last import Layout, feature_orders
from photofinish.frameworks._keras.depthwise import is_depthwise
from photofinish.frameworks._keras.use import layer_name
from photofinish.graph import Graph, Node
from photofinish.layers import Spec

OWN_NAMES = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "weight": "weight", "beta": "bias",
             "bias": "bias", "scale": "scale", "moving_mean": "running_mean",
             "moving_variance": "running_variance"}  # Keras' -> the graph's
RECURRENT_NAMES = {"kernel": "input_weight", "recurrent_kernel": "recurrent_weight", "recurrent_bias": "recurrent_bias"}


class Place:
    """Where the array of a parameter or state lives: a Keras variable and the layout it has there. Where several arrays
    share a variable, `row` says which row of it this one is."""

    def __init__(self, variable: Any, layout: Layout, row: Optional[int] = None) -> None:
        self.variable = variable
        self.layout = layout
        self.row = row

    def native(self, array: np.ndarray) -> np.ndarray:
        return self.layout.native(array)

    def store(self, array: np.ndarray, variable: Any) -> None:
        """Puts a canonical array into its variable, or into one like it (a slot)."""
        native = self.native(array)
        if self.row is not None:
            rows = np.array(variable.numpy())
            rows[self.row] = native
            native = rows
        variable.assign(native)

    def canonical(self, array: np.ndarray) -> np.ndarray:
        """What is this array's of the values of its variable, or of one like it."""
        return self.layout.canonical(np.asarray(array) if self.row is None else np.asarray(array)[self.row])


def _owners(graph: Graph, prefix: str = "") -> Iterator[Tuple[str, Node, Spec, Optional[np.ndarray]]]:
    """Every node that may own arrays, the bodies of scans included: name, node, input and feature order."""
    orders = feature_orders(graph)
    for node in graph.nodes:
        if isinstance(node.layer, layers.Scan):
            for owner in _owners(node.layer.body, prefix + node.name + "."):
                yield owner
        else:
            yield prefix + node.name, node, graph.spec(node.inputs[0]), orders.get(node.inputs[0])


def _own_names(layer: Any, native: str, inside: Sequence[str]) -> Tuple[str, ...]:
    """What the layer calls the arrays of a variable: one, or the biases of a GRU, which Keras keeps as two rows of one.
    `inside` are the Keras layers inside, which tell the directions apart."""
    if not isinstance(layer, layers.Recurrent):
        return (OWN_NAMES[native],)
    biases = layer.biases() if isinstance(layer, layers.GRU) else layer.biases()[:1]
    names = biases if native == "bias" else (RECURRENT_NAMES[native],)
    backward = any(part.startswith("backward_") for part in inside)
    return tuple("backward_" + name if backward else name for name in names)


def places(graph: Graph, model: Any, names: Optional[Dict[str, str]] = None) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives, found by the names of Keras' layers.

    `names` are what another package's model calls each layer of the graph: what it lacks is left out.
    """
    ours = None if names is None else {theirs: name for name, theirs in names.items()}
    owners = {name: (node, spec, order) for name, node, spec, order in _owners(graph)}
    found = {}
    for variable in model.variables:
        parts = variable.path.split("/")
        known = parts[:-1] if ours is None else [ours.get(part, "") for part in parts[:-1]]
        path = next((part for part in known if part in owners), None)
        if path is None or parts[-1] == "seed_generator_state":
            continue
        node, spec, order = owners[path]
        layer = node.layer
        group = "parameter" if variable.trainable else "state"
        declared = {each.name: each for each in layer.parameters(spec) + layer.state(spec)}
        held = _own_names(layer, parts[-1], parts[known.index(path) + 1:-1])
        own = held[0]
        view, axes = None, ()  # type: Optional[Tuple[int, ...]], Tuple[int, ...]
        if isinstance(layer, layers.Conv) and own == "weight":
            if is_depthwise(layer, spec):  # (channels, 1, height, width) -> HWC and multiplier
                view, axes = (layer.groups, -1) + layer.kernel, (2, 3, 0, 1)
            else:
                axes = (2, 3, 1, 0)
        elif isinstance(layer, layers.ConvTranspose) and own == "weight":
            axes = (2, 3, 1, 0)  # (C, channels, height, width) -> HW, channels, C
        elif isinstance(layer, layers.SequenceConv) and own == "weight":
            if is_depthwise(layer, spec):  # (channels, 1, kernel) -> kernel, C and multiplier
                view, axes = (layer.groups, -1, layer.kernel), (2, 0, 1)
            else:
                axes = (2, 1, 0)
        elif (isinstance(layer, layers.Linear) and own == "weight") or (
                isinstance(layer, layers.Recurrent) and own.endswith("_weight")):
            axes = (1, 0)
        for row, own in enumerate(held):
            axis = declared[own].feature_axis
            found["{}/{}.{}".format(group, path, own)] = Place(
                variable, Layout(declared[own].shape, axes, view, axis or 0, None if axis is None else order),
                row if len(held) > 1 else None)
    return found


def undotted(graph: Graph) -> Dict[str, str]:
    """What Keras calls each layer of the graph where names may hold no dots (`layer_name`)."""
    return {name: layer_name(name, "any") for name, _, _, _ in _owners(graph)}
