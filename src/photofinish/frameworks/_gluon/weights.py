"""Where the native model keeps the arrays of a graph: names that Gluon's blocks allow, and the order of rows."""

import keyword
import re
from typing import Dict, Iterator, NamedTuple, Optional, Tuple

import numpy as np

from photofinish import layers
from photofinish.graph import Graph, Node

RESERVED = re.compile("""
    (F|np|mx|nn|rnn|gluon|autograd|self|carry|sequence|outputs?\\d*|model|loss|step|name|prefix|params|shape|pool
    |name_scope|(save|load)_(params|parameters)|collect_params|register_\\w+|apply|initialize|hybridize|cast|forward
    |hybrid_forward|summary|infer_(shape|type)|export|optimize_for|steps|\\w+_loss|cross_entropy|masked_mean
    |padded_in_time|gelu_by_tanh|even_response_norm|GRAPH)$""", re.VERBOSE)
NORMS = {"weight": "gamma", "bias": "beta", "running_mean": "running_mean", "running_variance": "running_var"}
RECURRENT = {"input_weight": "i2h_weight", "recurrent_weight": "h2h_weight", "bias": "i2h_bias",
             "input_bias": "i2h_bias", "recurrent_bias": "h2h_bias"}  # behind l0_ (forward) or r0_ (backward)


def native_name(name: str) -> str:
    """A name of the graph as one that is legal, and that neither a block nor the printed code uses itself."""
    word = re.sub(r"\W", "_", name)
    if RESERVED.match(word) or keyword.iskeyword(word):
        return word + "_"
    return word if word.isidentifier() else "_" + word


def native_path(name: str) -> str:
    return ".".join(map(native_name, name.split(".")))


class Place(NamedTuple):
    """Where an array lives: the path of its parameter from the model, and the order of its rows where MXNet has another
    (native row i is canonical row order[i])."""

    path: str
    order: Optional[np.ndarray] = None

    def native(self, array: np.ndarray) -> np.ndarray:
        return array if self.order is None else array[self.order]

    def canonical(self, array: np.ndarray) -> np.ndarray:
        return array if self.order is None else array[np.argsort(self.order)]


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives; a shared one is where its first node has it."""
    found: Dict[str, Place] = {}
    for name, place in _places(graph):
        found.setdefault(name, place)
    return found


def _places(graph: Graph) -> Iterator[Tuple[str, Place]]:
    for node in graph.nodes:
        path, named = native_path(node.name), dict(node.parameters)
        if isinstance(node.layer, layers.Scan):
            for inner, place in _places(node.layer.body):
                yield "parameter/" + named[inner.partition("/")[2]], place._replace(path=path + "." + place.path)
            continue
        for group, pairs in (("parameter/", node.parameters), ("state/", node.state)):
            for own, name in pairs:
                native, order = _own(node, own)
                yield group + name, Place(path + "." + native, order)


def _own(node: Node, own: str) -> Tuple[str, Optional[np.ndarray]]:
    """What MXNet calls an array of a layer, and the order of its rows."""
    layer = node.layer
    if isinstance(layer, (layers.BatchNorm, layers.LayerNorm)):
        return NORMS[own], None
    if not isinstance(layer, layers.Recurrent) or (isinstance(layer, layers.GRU) and not layer.reset_after):
        return own, None
    _, backward, name = own.rpartition("backward_")
    order = None
    if isinstance(layer, layers.GRU):
        update, reset, hidden = np.split(np.arange(3 * layer.features), 3)
        order = np.concatenate([reset, update, hidden])
    return ("r0_" if backward else "l0_") + RECURRENT[name], order
