"""Where the native model keeps the arrays of a graph: names that nn.Module allows, and the order of rows."""

import re
from typing import Dict, Optional

from photofinish import layers
from photofinish.frameworks._common.places import Place, legal, reset_first
from photofinish.graph import Graph, Node

RESERVED = re.compile("""
    (F|nn|self|torch|training|step|forward|float|double|half|bfloat16|to|to_empty|cpu|cuda|ipu|xpu|mtia|type|train|eval
    |apply|compile|modules|children|parameters|buffers|named_\\w+|add_module|(get|set|register)_\\w+|requires_grad_
    |(load_)?state_dict|zero_grad|share_memory|extra_repr|call_super_init|dump_patches|T_destination)$""", re.VERBOSE)
RECURRENT = {"input_weight": "weight_ih_l0", "recurrent_weight": "weight_hh_l0", "bias": "bias_ih_l0",
             "input_bias": "bias_ih_l0", "recurrent_bias": "bias_hh_l0"}  # what nn.LSTM and nn.GRU call them


def native_name(name: str) -> str:
    """A name of the graph as an attribute that is legal and that nn.Module does not use itself."""
    return legal(name, RESERVED)


def native_path(name: str) -> str:
    """Where the native model keeps what the graph calls `name`."""
    renamed = {"running_variance": "running_var"}
    return ".".join(renamed.get(part, native_name(part)) for part in name.split("."))


def place(node: Node, own: str) -> Place:
    """Where a node's module has the array that its layer calls `own`."""
    layer, order = node.layer, None
    if isinstance(layer, layers.GRU) and layer.reset_after:
        order = reset_first(layer.features)
    elif not isinstance(layer, layers.LSTM):
        return Place(native_path("{}.{}".format(node.name, own)))
    _, backward, name = own.rpartition("backward_")
    return Place(native_path(node.name) + "." + RECURRENT[name] + ("_reverse" if backward else ""), order=order)


def places(graph: Graph, names: Optional[Dict[str, str]] = None) -> Dict[str, Place]:
    """Every parameter and state of the graph by name; a shared one is where its first node has it.

    `names` are what another package's model calls each layer, or an array itself: what it lacks is left out.
    """
    found: Dict[str, Place] = {}
    for node in graph.nodes:
        for own, name in node.parameters + node.state:
            here = place(node, own)
            if names is not None and name in names:
                here = here._replace(path=names[name])
            elif names is not None and node.name in names:
                here = here._replace(path=names[node.name] + here.path[here.path.rfind("."):])
            elif names is not None:
                continue
            found.setdefault(name, here)
    return found
