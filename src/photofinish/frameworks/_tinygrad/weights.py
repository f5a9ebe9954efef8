"""Where the objects of a native model keep the arrays of a graph: in the layouts of the graph itself."""

from typing import Dict

from photofinish import layers
from photofinish.frameworks._tinygrad.native import native_name
from photofinish.graph import Graph


def paths(graph: Graph) -> Dict[str, str]:
    """Every parameter and state of the graph by name -> its attribute's path; a shared one is where its first node has
    it."""
    found: Dict[str, str] = {}
    for node in graph.nodes:
        place = native_path(node.name)
        inner = paths(node.layer.body) if isinstance(node.layer, layers.Scan) else {}
        for own, name in node.parameters + node.state:
            found.setdefault(name, place + "." + inner.get(own, _own(node.layer, own)))
    return found


def native_path(name: str) -> str:
    return ".".join(native_name(part) for part in name.split("."))


def _own(layer: layers.Layer, own: str) -> str:
    """What an object calls an array of its layer."""
    if isinstance(layer, layers.Recurrent) and layer.bidirectional:
        _, backward, name = own.rpartition("backward_")
        return ("back." if backward else "ahead.") + name
    return {"running_variance": "running_var"}.get(own, own)
