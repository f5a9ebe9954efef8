"""Whether something got slower by more than is allowed: the ratio of two contenders against a limit, not against 1.

The limit lies inside what a verdict may call FASTER, so the verdict alone does not tell. The race has a number of
launches fixed beforehand and is looked at once; of the error of 5 %, each of several checks gets an equal part
(Bonferroni).
"""

import math
from dataclasses import dataclass

import numpy as np

from photofinish.stats import paired, student
from photofinish.stats.verdict import ALPHA, POWER
from photofinish.values import Estimate, Race

SLOWER, WITHIN, OPEN = "SLOWER", "WITHIN", "UNDECIDED"


@dataclass(frozen=True)
class Regression:
    """`ratio` is seconds(candidate) / seconds(baseline). `outcome` is SLOWER where its interval lies above 1 + limit,
    WITHIN where it does not reach that far, else UNDECIDED; `needed` launches in all would decide it (0 when decided,
    None where it lies so close to the limit that none would)."""

    ratio: Estimate
    outcome: str
    launches: int
    needed: int | None = 0


def check(race: Race, baseline: str, candidate: str, limit: float, family: int = 1) -> Regression | None:
    """Of one pair among `family`; None where fewer than two launches compare them."""
    return _judged(paired.launch_differences(paired.log_steps(race), baseline, candidate), limit, family)


def between(before: Race, after: Race, contender: str, limit: float, family: int = 1) -> Regression | None:
    """Of a contender in two races whose launches took turns; None where fewer than two launches of both have it."""
    was, now = (paired.by_launch(paired.log_steps(race).get(contender, {})) for race in (before, after))
    return _judged(np.array([now[each] - was[each] for each in sorted(was.keys() & now.keys())]), limit, family)


def _judged(logs: np.ndarray, limit: float, family: int) -> Regression | None:
    """`logs` are of the ratio, one per launch."""
    if len(logs) < 2:
        return None
    level = ALPHA / family
    ratio, most = paired.interval(logs, 1 - level), 1 + limit
    if ratio.low > most:
        return Regression(ratio, SLOWER, len(logs))
    if ratio.high <= most:
        return Regression(ratio, WITHIN, len(logs))
    mean, error = student.mean_and_error(logs)
    spread = error * math.sqrt(len(logs))
    needed = student.launches_needed(spread, abs(mean - math.log(most)), level / 2, POWER)
    return Regression(ratio, OPEN, len(logs), needed if needed < student.MOST else None)
