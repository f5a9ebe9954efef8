"""A straight line through networks, and how far it is off for one that it was not drawn through."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.stats import student
from photofinish.values import Estimate

FEWEST = 4  # points that a line, its interval and one left out take
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Line:
    """`slope` with Student's interval over points. `off` is how far the line typically is from a point left out of it:
    the root mean square of these errors (PRESS; Allen, Technometrics 16, 1974)."""

    slope: Estimate
    off: float


def line(x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> Line | None:
    """By least squares; None of fewer points than FEWEST, or where the others have one x without some point: the slope
    is that point's alone, and nothing says how far off it is."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) < FEWEST or min(np.ptp(np.delete(x, i)) for i in range(len(x))) == 0:
        return None
    apart = x - x.mean()
    slope = float(apart @ y / (apart @ apart))
    errors = y - y.mean() - slope * apart
    error = math.sqrt(float(errors @ errors) / (len(x) - 2) / float(apart @ apart))
    reach = student.quantile((1 + CONFIDENCE) / 2, len(x) - 2) * error
    left_out = errors / (1 - 1 / len(x) - apart**2 / (apart @ apart))
    return Line(Estimate(slope, slope - reach, slope + reach), math.sqrt(float(np.mean(left_out**2))))
