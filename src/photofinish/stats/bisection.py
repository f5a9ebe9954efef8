"""Where among versions in order something got slower: which to look at next, and on which side one lies.

The first version is known to be faster than the last. A version is on the slow side if it takes longer than the
geometric mean of the two, that is, if more than half of the slow-down (in log time) has happened: a question with one
answer for every version, also where several versions share the slow-down. Between neighbours on different sides that
half is crossed. The error of 5 % is shared among the looks (Bonferroni): log2(versions) are enough where each is
decided, and where some stay open others follow.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from photofinish.stats import paired, student
from photofinish.stats.verdict import ALPHA, POWER, launch_seconds, share
from photofinish.values import Estimate, Race

FAST, SLOW, OPEN = "fast", "slow", ""


@dataclass(frozen=True)
class Position:
    """`over` is seconds(candidate) over the middle of the two ends, `side` FAST, SLOW or OPEN (not shown);
    `seconds_to_decide` is 0 where it is shown, None where nobody can tell."""

    over: Estimate
    side: str
    launches: int
    seconds_to_decide: float | None


def looks(count: int) -> int:
    """How many a search among so many versions takes if each is decided."""
    return max(1, math.ceil(math.log2(max(2, count - 1))))


def allowed(number: int, count: int) -> float:
    """The chance of an error that the look of that number (from 0) among so many versions may take: as many as are
    planned have four fifths of the 5 % in equal parts, the next as many a fifth of what these have, and so on."""
    return ALPHA * 0.8 * 0.2 ** (number // looks(count)) / looks(count)


def bracket(count: int, sides: Mapping[int, str]) -> tuple[int, int]:
    """The last version known to be fast and the first known to be slow."""
    return (max((each for each, side in sides.items() if side == FAST), default=0),
            min((each for each, side in sides.items() if side == SLOW), default=count - 1))


def candidate(count: int, sides: Mapping[int, str]) -> int | None:
    """The version to look at next: the one nearest to the middle of the bracket that was not looked at; None if there
    is none."""
    low, high = bracket(count, sides)
    inside = [each for each in range(low + 1, high) if each not in sides]
    return min(inside, key=lambda each: (abs(2 * each - low - high), each), default=None)


def position(race: Race, good: str, name: str, bad: str, number: int, count: int) -> Position | None:
    """Where a candidate lies in a race with both ends, by the look of that number among `count` versions; None where no
    two launches compare it with both."""
    steps = paired.log_steps(race)
    before, after = paired.round_differences(steps, good, name), paired.round_differences(steps, name, bad)
    launches = sorted(before.keys() & after.keys())
    if len(launches) < 2:
        return None
    logs = np.array([(paired.location(before[each]) - paired.location(after[each])) / 2 for each in launches])
    level = share(race) * allowed(number, count)
    over = paired.interval(logs, 1 - level)
    side = SLOW if over.low > 1 else FAST if over.high < 1 else OPEN
    return Position(over, side, len(launches), 0.0 if side else _to_decide(race, logs, level))


def _to_decide(race: Race, logs: np.ndarray, level: float) -> float | None:
    """The seconds that would decide it with a chance of 80 %, at the mean and spread seen."""
    cost = launch_seconds(race)
    if cost is None:
        return None
    mean, error = student.mean_and_error(logs)
    needed = student.launches_needed(error * math.sqrt(len(logs)), abs(mean), level / 2, POWER)
    return max(1, needed - len(logs)) * cost
