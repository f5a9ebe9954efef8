"""Where the objects of a native model keep the arrays of a graph: in the layouts of the graph itself."""

from typing import Dict

from photofinish import layers
from photofinish.frameworks._common.places import dotted, walk
from photofinish.frameworks._tinygrad.native import native_name
from photofinish.graph import Graph


def paths(graph: Graph) -> Dict[str, str]:
    """"parameter/<name>" and "state/<name>" -> its attribute's path; a shared one is where its first node has it."""
    found: Dict[str, str] = {}
    for name, nodes, own in walk(graph):
        found.setdefault(name, ".".join([native_path(node.name) for node in nodes] + [_own(nodes[-1].layer, own)]))
    return found


def native_path(name: str) -> str:
    return dotted(name, native_name)


def _own(layer: layers.Layer, own: str) -> str:
    """What an object calls an array of its layer."""
    if isinstance(layer, layers.Recurrent) and layer.bidirectional:
        _, backward, name = own.rpartition("backward_")
        return ("back." if backward else "ahead.") + name
    return {"running_variance": "running_var"}.get(own, own)
