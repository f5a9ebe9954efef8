"""Where the native model keeps the arrays of a graph: names that Gluon's blocks allow, and the order of rows."""

import re
from typing import Dict, Optional, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._common.places import Place, dotted, legal, reset_first, walk
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
    return legal(name, RESERVED)


def native_path(name: str) -> str:
    return dotted(name, native_name)


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives; a shared one is where its first node has it."""
    found: Dict[str, Place] = {}
    for name, nodes, own in walk(graph):
        native, order = _own(nodes[-1], own)
        path = ".".join([native_path(node.name) for node in nodes] + [native])
        found.setdefault(name, Place(path, order=order))
    return found


def _own(node: Node, own: str) -> Tuple[str, Optional[np.ndarray]]:
    """What MXNet calls an array of a layer, and the order of its rows."""
    layer = node.layer
    if isinstance(layer, (layers.BatchNorm, layers.LayerNorm)):
        return NORMS[own], None
    if not isinstance(layer, layers.Recurrent) or (isinstance(layer, layers.GRU) and not layer.reset_after):
        return own, None
    _, backward, name = own.rpartition("backward_")
    order = reset_first(layer.features) if isinstance(layer, layers.GRU) else None
    return ("r0_" if backward else "l0_") + RECURRENT[name], order
