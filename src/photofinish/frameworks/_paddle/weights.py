"""Where the native model keeps the arrays of a graph: names that nn.Layer allows, and the order of rows."""

import re
from typing import Dict, List, Tuple

from photofinish import layers
from photofinish.frameworks._common.places import Place, dotted, legal, reset_first, walk
from photofinish.graph import Graph, Node

RESERVED = re.compile("""
    (F|nn|self|paddle|training|step|forward|backward|float|float16|bfloat16|double|half|to|astype|type|train|eval|apply
    |full_name|children|parameters|buffers|sublayers|named_\\w+|(add|create|get|set|register|load)_\\w+|state_dict
    |clear_gradients|extra_repr|name|dtype)$""", re.VERBOSE)
STATE = {"running_mean": "_mean", "running_variance": "_variance"}  # what nn.BatchNorm calls its buffers
RECURRENT = {"input_weight": "weight_ih_l0", "recurrent_weight": "weight_hh_l0", "bias": "bias_ih_l0",
             "input_bias": "bias_ih_l0", "recurrent_bias": "bias_hh_l0"}  # what nn.LSTM and nn.GRU call them


def native_name(name: str) -> str:
    """A name of the graph as an attribute of nn.Layer, or an argument."""
    return legal(name, RESERVED)


def is_table(graph: Graph, parameter: str) -> bool:
    """Whether a weight is a table of embeddings, with a row for each word: nn.Linear keeps its own turned round."""
    return any(parameter == name and isinstance(node.layer, (layers.Embedding, layers.EmbeddingBag))
               for node in graph.nodes for _, name in node.parameters)


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives; a shared one is where its first node has it."""
    found: Dict[str, Place] = {}
    for name, nodes, own in walk(graph):
        found.setdefault(name, _place(graph, nodes, own))
    return found


def ties(graph: Graph) -> List[Tuple[str, str]]:
    """The path of each shared parameter in another than its first node, and its path there."""
    found = places(graph)
    paths = [(_place(graph, nodes, own).path, found[name].path) for name, nodes, own in walk(graph)]
    return [(path, first) for path, first in paths if path != first]


def _place(graph: Graph, nodes: Tuple[Node, ...], own: str) -> Place:
    node, layer = nodes[-1], nodes[-1].layer
    inside = nodes[-2].layer.body if len(nodes) > 1 else graph  # type: ignore[attr-defined]
    turned = isinstance(layer, layers.Linear) and own == "weight" and not is_table(inside, dict(node.parameters)[own])
    named, order = STATE.get(own, native_name(own)), None
    if isinstance(layer, layers.Recurrent):
        named = own
        if not isinstance(layer, layers.GRU) or layer.reset_after:
            _, backward, name = own.rpartition("backward_")
            named = RECURRENT[name] + ("_reverse" if backward else "")
            order = reset_first(layer.features) if isinstance(layer, layers.GRU) else None
    return Place(".".join([dotted(each.name, native_name) for each in nodes] + [named]), turned, order)
