"""Where native models keep the arrays of a graph: names that they allow, and the order of rows."""

import keyword
import re
from typing import Callable, Iterator, NamedTuple, Optional, Pattern, Tuple

import numpy as np

from photofinish import layers
from photofinish.graph import Graph, Node


def legal(name: str, reserved: Pattern[str]) -> str:
    """A name of the graph as one that Python allows, and that is not `reserved` for what a module, or printed code, has
    itself."""
    word = re.sub(r"\W", "_", name)
    if reserved.match(word) or keyword.iskeyword(word):
        return word + "_"
    return word if word.isidentifier() else "_" + word


def dotted(name: str, spell: Callable[[str], str]) -> str:
    """The path of a scope or layer, each part as `spell` has it."""
    return ".".join(map(spell, name.split(".")))


def walk(graph: Graph) -> Iterator[Tuple[str, Tuple[Node, ...], str]]:
    """Every array of a graph, and again where it is shared: "parameter/<name>" or "state/<name>", the node that has it
    behind those whose bodies it is in (Scan), and what its layer calls it."""
    for node in graph.nodes:
        if isinstance(node.layer, layers.Scan):
            outer = dict(node.parameters)
            for inner, nodes, own in walk(node.layer.body):
                yield "parameter/" + outer[inner.partition("/")[2]], (node,) + nodes, own
            continue
        for group, pairs in (("parameter/", node.parameters), ("state/", node.state)):
            for own, name in pairs:
                yield group + name, (node,), own


class Place(NamedTuple):
    """Where an array lives: its path from the model, whether as a matrix turned round, and the order of its rows where
    that is another (native row i is canonical row order[i])."""

    path: str
    turned: bool = False
    order: Optional[np.ndarray] = None

    def native(self, array: np.ndarray) -> np.ndarray:
        array = array if self.order is None else array[self.order]
        return np.ascontiguousarray(array.T) if self.turned else array

    def canonical(self, array: np.ndarray) -> np.ndarray:
        array = np.ascontiguousarray(array.T) if self.turned else array
        return array if self.order is None else array[np.argsort(self.order)]


def reset_first(features: int) -> np.ndarray:
    """The rows of a GRU whose gates are reset, update and hidden: ours are update, reset and hidden."""
    update, reset, hidden = np.split(np.arange(3 * features), 3)
    return np.concatenate([reset, update, hidden])
