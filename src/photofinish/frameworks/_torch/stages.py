"""A graph cut into stretches of layers for processes one behind the other (pipeline parallelism, Huang et al. 2019).
Needs no PyTorch: what is printed looks at it, too.
"""

import math
from itertools import accumulate
from typing import Dict, Iterator, List, Sequence, Set, Tuple

from photofinish.frameworks import Unsupported
from photofinish.graph import Graph

UNEVEN = 0.1  # of all multiply-accumulates: of cuts that differ less, the one over which least is sent is taken


def stages(graph: Graph, world: int) -> List[Graph]:
    """The graph cut into so many stretches of layers of about equal multiply-accumulates, at places over which nothing
    but floats is handed on. Raises Unsupported where there is no such place."""
    work = [0, *accumulate(max(node.layer.macs(*graph.input_specs(node)), 1) for node in graph.nodes)]
    cuts = [0]
    for stage in range(1, world):
        places = [place for place in range(cuts[-1] + 1, len(graph.nodes) + 1) if _passable(graph, place)]
        if not places:
            raise Unsupported("fewer layers one behind the other than {} stages need".format(world))
        away = {place: abs(work[place] / work[-1] - stage / world) for place in places}
        cuts.append(min(places, key=lambda place: (away[place] // UNEVEN, _values(graph, place), away[place])))
    cuts.append(len(graph.nodes))
    return [_stretch(graph, cuts[stage], cuts[stage + 1], stage == world - 1) for stage in range(world)]


def handed_on(graph: Graph, place: int) -> List[str]:
    """What the nodes before it make and those behind it, the losses or the reader of the outputs look at, in order."""
    later = {name for node in graph.nodes[place:] for name in node.inputs} | set(graph.outputs) | {
        loss.prediction for loss in graph.losses}
    return [name for node in graph.nodes[:place] for name in node.outputs if name in later]


def _passable(graph: Graph, place: int) -> bool:
    handed = set(handed_on(graph, place))
    makers = [node for node in graph.nodes[:place] if handed & set(node.outputs)]
    return bool(handed) and not any(node.training_only for node in makers) and all(
        graph.spec(name).dtype.startswith("float") for name in handed)


def _values(graph: Graph, place: int) -> int:
    return sum(math.prod(graph.spec(name).shape) for name in handed_on(graph, place))


def _stretch(graph: Graph, begin: int, end: int, last: bool) -> Graph:
    nodes, passed = graph.nodes[begin:end], handed_on(graph, begin) if begin else []
    looked_at: Set[str] = {name for node in nodes for name in node.inputs}
    inputs = (*((name, graph.spec(name)) for name in passed), *(each for each in graph.inputs if each[0] in looked_at))
    if last:
        return Graph(inputs, nodes, graph.outputs, graph.targets, graph.losses)
    return Graph(inputs, nodes, tuple(handed_on(graph, end)))


def holders(everyone: Sequence[Graph]) -> Dict[str, List[int]]:
    """The stages that have a parameter, of each."""
    found: Dict[str, List[int]] = {}
    for rank, name in _pairs(everyone):
        found.setdefault(name, []).append(rank)
    return found


def _pairs(everyone: Sequence[Graph]) -> Iterator[Tuple[int, str]]:
    return ((rank, name) for rank, stage in enumerate(everyone) for name in stage.parameters)
