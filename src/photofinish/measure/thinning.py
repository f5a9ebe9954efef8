"""What is kept of results too large to keep whole."""

from typing import Dict, List, Tuple

import numpy as np

from photofinish.graph import Graph
from photofinish.weights import Arrays, stream

SAMPLE = 2 ** 16  # elements kept of a larger result: they give its r.m.s. error to 0.3 %


class Thinning:
    """Of a large result SAMPLE random elements are kept: the same ones for everybody, and for the gradient, the update
    and the slots of one parameter. Half of them are of the `rows` of a table."""

    def __init__(self, seed: int, rows: Dict[str, np.ndarray]) -> None:
        self.seed, self.rows = seed, rows
        self.places = {}  # type: Dict[Tuple[str, Tuple[int, ...]], np.ndarray]

    def __call__(self, name: str, values: np.ndarray) -> np.ndarray:
        """`name` is that of a result: "gradient/conv1.weight"."""
        values, path = np.asarray(values), name.split("/", 1)[-1]
        if values.size <= SAMPLE:
            return values
        if (path, values.shape) not in self.places:
            self.places[path, values.shape] = self._drawn(path, values.shape)
        places = self.places[path, values.shape]
        if values.flags.c_contiguous:
            return np.asarray(values.ravel()[places])
        return np.asarray(values[np.unravel_index(places, values.shape)])  # ravel() would copy all of a transposed one

    def _drawn(self, path: str, shape: Tuple[int, ...]) -> np.ndarray:
        """Places in the flat array."""
        size = int(np.prod(shape))
        generator = stream(self.seed, "sample " + path)
        places = generator.randint(0, size, SAMPLE)
        rows = self.rows.get(path)
        if rows is not None:
            width, half = size // shape[0], SAMPLE // 2
            places[:half] = generator.choice(rows, half) * width + places[:half] % width
        return places


def touched_rows(graph: Graph, batches: List[Arrays]) -> Dict[str, np.ndarray]:
    """The rows of each table that the batches look up: of a large one all others have no gradient."""
    found = {}  # type: Dict[str, List[np.ndarray]]
    for node in graph.nodes:
        if hasattr(node.layer, "vocabulary"):
            ids = [batch[name].ravel() for batch in batches for name in node.inputs if name in batch]
            found.setdefault(dict(node.parameters)["weight"], []).extend(ids)
    return {name: np.unique(np.concatenate(ids)) for name, ids in found.items() if ids}
