"""NumPy's rules of layers, made to compute in fewer bits of mantissa."""

from collections.abc import Callable
from typing import Any

import numpy as np

from photofinish.frameworks import numpy as reference


def rounding(bits: int) -> Callable[[np.ndarray], np.ndarray]:
    """To nearest, with so many explicit bits of mantissa."""
    def rounded(values: np.ndarray) -> np.ndarray:
        fraction, exponent = np.frexp(values)
        return np.ldexp(np.rint(np.ldexp(fraction, bits + 1)), exponent - bits - 1).astype(values.dtype)
    return rounded


def coarse(kind: type, bits: int) -> Callable[..., Any]:
    """The rule of a layer on operands rounded to so many bits of mantissa, forward and backward."""
    honest_rule, rounded = reference.RULES[kind], rounding(bits)

    def rule(use: Any, *inputs: np.ndarray) -> Any:
        use.parameters = {name: rounded(values) for name, values in use.parameters.items()}
        result, pull = honest_rule(use, *map(rounded, inputs))
        return result, lambda gradient: pull(rounded(gradient))
    return rule
