"""Slow layers planted in the fake framework: a copy takes as long as its layer, and float64 twice as long."""

from typing import Any, List

from photofinish.graph import Graph, Node


def copy(contestant: Any, graph: Graph, times: int) -> None:
    contestant.copying = times * len(graph.nodes) * contestant.node_seconds * contestant.speed
    contestant.step_seconds += contestant.copying


def widen(contestant: Any, graph: Graph, nodes: List[Node]) -> None:
    contestant.step_seconds += len(nodes) * contestant.node_seconds * contestant.speed
