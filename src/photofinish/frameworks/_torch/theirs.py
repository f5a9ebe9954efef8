"""Where another library's PyTorch model keeps the arrays of a graph, by the map of its names."""

from typing import Dict, Sequence

from photofinish.frameworks._common.places import Place
from photofinish.frameworks._torch import weights
from photofinish.graph import Graph
from photofinish.models import TURNED


def named_places(graph: Graph, names: Dict[str, str]) -> Dict[str, Place]:
    """Of every array that the map names: its path, and whether it is turned round."""
    found = {}
    for name, place in weights.places(graph, names).items():
        matrix = name in graph.parameters and len(graph.parameters[name].shape) == 2
        found[name] = place._replace(path=place.path.replace(TURNED, ""), turned=matrix and TURNED in place.path)
    return found


def alike(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether arrays of the two shapes hold the same in the same order: (64, 3, 1, 1) and (64, 3) do."""
    return [size for size in shape if size != 1] == [size for size in other if size != 1]
