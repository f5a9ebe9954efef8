"""The arrays that the draws of a proof start from: a few units in the last place beside those given."""

from typing import Callable, Iterator, Mapping

import numpy as np

from photofinish.frameworks import Given
from photofinish.weights import stream

ULPS = 8  # by how many units in the last place the perturbed draws start off
CHUNK = 2 ** 16  # elements moved at a time: they stay in a cache


class Moved(Mapping[str, np.ndarray]):
    """Arrays moved by ULPS units in the last place, each element up or down at random.

    Draw 0 is the arrays themselves. Integers and masks stay. Moving by c ulps, rather than multiplying
    the effect of one ulp by c, is the same for smooth functions and honest at kinks (ReLU, max pooling).

    Each is read and moved when it is asked for, so that not all of a large model lie in memory; `seen` is then told.
    """

    def __init__(self, arrays: Given, draw: int, seed: int,
                 seen: Callable[[str, np.ndarray], None] = lambda name, values: None) -> None:
        self.arrays, self.draw, self.seed, self.seen = arrays, draw, seed, seen

    def __getitem__(self, name: str) -> np.ndarray:
        values = self.arrays[name]
        if self.draw and values.dtype.kind == "f":
            values = _moved(values, stream(self.seed, "ulps {} {}".format(self.draw, name)))
        self.seen(name, values)
        return values

    def __contains__(self, name: object) -> bool:
        return name in self.arrays

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return sum(1 for _ in self)  # NumPy's file of arrays has had no length for long


def _moved(values: np.ndarray, generator: np.random.RandomState) -> np.ndarray:
    up = generator.randint(0, 2, values.shape, dtype=np.int8).ravel()
    factors, flat = 1.0 + np.array([-1, 1]) * (ULPS * 2.0 ** -23), values.ravel()
    moved = np.empty(values.size, np.float32)
    for begin in range(0, values.size, CHUNK):
        part = slice(begin, begin + CHUNK)
        moved[part] = flat[part] * factors[up[part]]
    return moved.reshape(values.shape)
