"""How one layer is written in PyTensor, batch first, channels before rows and columns."""

import re
from typing import Any, Dict, Tuple

from photofinish import layers
from photofinish.frameworks._common.forward import Native, Rules, plain
from photofinish.frameworks._common.places import dotted, legal, walk
from photofinish.frameworks._common.text import call
from photofinish.graph import Graph

__all__ = ["Native", "Rules", "native_name", "native_path", "part", "paths", "plain", "turned"]

RESERVED = re.compile(
    "(np|pt|pytensor|self|carry|sequence|outputs?\\d*|x|model|loss|step|t|training|updates|random|training_loss|GRAPH)$")


def native_name(name: str) -> str:
    """A name of the graph as one that is legal, and that the printed code does not use itself."""
    return legal(name, RESERVED)


def native_path(name: str) -> str:
    return dotted(name, native_name)


def paths(graph: Graph) -> Dict[str, str]:
    """"parameter/<name>" and "state/<name>" -> the attribute that holds it; a shared one is where its first node has
    it."""
    found: Dict[str, str] = {}
    for name, nodes, own in walk(graph):
        found.setdefault(name, ".".join([*(native_path(node.name) for node in nodes), own]))
    return found


AXES = {layers.Conv: (2, 3, 1, 0), layers.SequenceConv: (2, 1, 0), layers.ConvTranspose: (0, 2, 3, 1)}


def turned(graph: Graph) -> Dict[str, Tuple[int, ...]]:
    """"parameter/<name>" -> the order in which its axes stand here, where that is not the graph's: weights of
    convolutions, so that the product with them needs none put elsewhere."""
    return {name: AXES[type(nodes[-1].layer)] for name, nodes, own in walk(graph)
            if own == "weight" and type(nodes[-1].layer) in AXES}


def part(kind: str, *arguments: Any, **options: Any) -> Native:
    """An object of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))
