"""What the exact function makes of weights and inputs that a coarser format has rounded: the draws by which a mode of
that format is judged.

As in mixed precision, what is rounded is what is computed with. A step is taken from rounded weights, and its update is
added to the exact ones; running statistics and the optimizer's slots stay as they are.
"""

from typing import Any, Tuple

import numpy as np

from photofinish.frameworks import Arrays
from photofinish.weights import stream

PARAMETER = "parameter/"


class Rounded:
    """A contestant in float64, each value of whose parameters and batches is off by `unit` of itself, up or down at
    random: the most that one rounding changes. `draw` draws the signs, the same ones at every step."""

    def __init__(self, exact: Any, unit: float, draw: int) -> None:
        self._exact = exact
        self._unit = unit
        self._draw = draw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exact, name)

    def feed(self, arrays: Arrays) -> Any:
        return self._exact.feed(self._moved(arrays))

    def infer(self, batch: Any) -> Arrays:
        kept, _ = self._round()
        found = self._exact.read(self._exact.infer(batch))
        self._exact.put(kept)
        return found  # type: ignore[no-any-return]

    def gradients(self, batch: Any) -> Arrays:
        kept, _ = self._round()
        found = self._exact.gradients(batch)
        self._exact.put(kept)
        return found  # type: ignore[no-any-return]

    def train_step(self, batch: Any) -> Arrays:
        kept, start = self._round()
        found = self._exact.read(self._exact.train_step(batch))
        after = self._exact.get()
        self._exact.put(dict(after, **{name: kept[name] + (after[name] - start[name]) for name in start}))
        return found  # type: ignore[no-any-return]

    def read(self, handle: Arrays) -> Arrays:
        """What was read already."""
        return handle

    def _round(self) -> Tuple[Arrays, Arrays]:
        """Puts rounded parameters in the place of the exact ones. Returns everything as it was, and what was put."""
        kept = self._exact.get()
        start = self._moved({name: values for name, values in kept.items() if name.startswith(PARAMETER)})
        self._exact.put(dict(kept, **start))
        return kept, start

    def _moved(self, arrays: Arrays) -> Arrays:
        return {name: self._off(name, values) if values.dtype.kind == "f" else values
                for name, values in arrays.items()}

    def _off(self, name: str, values: np.ndarray) -> np.ndarray:
        generator = stream(self._draw, "rounding " + name)
        signs = 2 * generator.randint(0, 2, values.shape, dtype=np.int8) - 1
        return np.asarray(values * (1.0 + signs * self._unit))
