"""Whether counted operations tell the time that networks take: a line through the logarithms, and how far it is off for
a network that it was not drawn through."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.stats.lines import line
from photofinish.values import Estimate, Result


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
            if each.failure is None and each.time is not None:
                alike.setdefault((case.device, each.contender, case.batch), []).append((macs, each.time.value))
    found = {setting: fit(*zip(*pairs)) for setting, pairs in alike.items()}
    return {setting: line for setting, line in found.items() if line is not None}


def fit(operations: Sequence[float], seconds: Sequence[float]) -> Fit | None:
    """Of one network each; None of fewer than make a line, or where all have as many operations."""
    from scipy.stats import spearmanr

    x, y = np.log(operations), np.log(seconds)
    found = line(x, y)
    if found is None:
        return None
    return Fit(found.slope, float(spearmanr(x, y).statistic), math.exp(found.off), len(x))
