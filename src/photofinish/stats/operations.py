"""Whether counted operations tell the time that networks take: a line through the logarithms, and how far it is off for
a network that it was not drawn through."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.stats import student
from photofinish.values import Estimate, Result

FEWEST = 4  # networks that a line, its interval and one left out take
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Fit:
    """Time grows as operations to the power of `exponent` (1: in proportion; Student's interval over networks).
    `rank` is Spearman's correlation. `factor` is how far off the line typically is for a network left out of it: the
    exponential of the root mean square of its errors in log time."""

    exponent: Estimate
    rank: float
    factor: float
    networks: int


def fits(timed: Iterable[tuple[float, Result]]) -> dict[tuple[str, str, int], Fit]:
    """Of the operations of a sample and the race of one network each: by device, contender and batch, where there are
    networks enough. Races that do not compare do not count."""
    alike: dict[tuple[str, str, int], list[tuple[float, float]]] = {}
    for macs, result in timed:
        case = result.race.case
        for each in result.standings if result.comparable and case.task == "infer" else ():
            if each.time is not None:
                alike.setdefault((case.device, each.contender, case.batch), []).append((macs, each.time.value))
    found = {setting: fit(*zip(*pairs)) for setting, pairs in alike.items()}
    return {setting: line for setting, line in found.items() if line is not None}


def fit(operations: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """Of one network each; None of fewer than FEWEST, or where all have as many operations."""
    from scipy.stats import spearmanr

    x, y = np.log(operations), np.log(seconds)
    if len(x) < FEWEST or np.ptp(x) == 0:
        return None
    apart = x - x.mean()
    slope = float(apart @ y / (apart @ apart))
    errors = y - y.mean() - slope * apart
    error = math.sqrt(float(errors @ errors) / (len(x) - 2) / float(apart @ apart))
    reach = student.quantile((1 + CONFIDENCE) / 2, len(x) - 2) * error
    left_out = errors / (1 - 1 / len(x) - apart**2 / (apart @ apart))  # Allen 1974, PRESS
    return Fit(Estimate(slope, slope - reach, slope + reach), float(spearmanr(x, y).statistic),
               math.exp(math.sqrt(float(np.mean(left_out**2)))), len(x))
