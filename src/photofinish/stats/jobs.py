"""How long your job takes: start, compile, first step, warm-up and N steps of each contender, and from
how many steps on a slow starter with fast steps wins."""

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from photofinish.stats import paired, student
from photofinish.values import Race, WarmUp

PREPARATION = ("start", "import", "build", "weights")


@dataclass(frozen=True)
class Job:
    """seconds(N) = fixed + N step, once N exceeds `settled_after`. `cold` is what compiling into an empty
    cache adds (0 where no such figure was taken)."""

    contender: str
    fixed: float
    step: float
    settled_after: int
    cold: float = 0.0

    def seconds(self, steps: float, cold: bool = False) -> float:
        return self.fixed + steps * self.step + (self.cold if cold else 0.0)


@dataclass(frozen=True)
class Crossing:
    """Below `steps` the job ends first with `early`, above with `late`. `low` and `high` bound it at 95 %;
    `high` is None where the step times are not shown to differ, both are where one launch was run."""

    early: str
    late: str
    steps: float
    low: float | None
    high: float | None


def jobs(race: Race) -> tuple[Job, ...]:
    """A line for each contender whose phases and steps were both measured: means over launches."""
    made = []
    for name in race.contenders:
        lines = _lines(race, name)
        if lines:
            fixed, step = np.mean(list(lines.values()), axis=0)
            settled = [1 + each.steps for each in _warm_ups(race, name).values()]
            made.append(Job(name, float(fixed), float(step), int(np.median(settled)), _cold(race, name)))
    return tuple(made)


def crossings(race: Race, cold: bool = False) -> tuple[Crossing, ...]:
    """Where the lines of two contenders cross at a positive number of steps, for every such pair."""
    extra = {job.contender: job.cold if cold else 0.0 for job in jobs(race)}
    found = [_crossing(race, a, b, extra[b] - extra[a]) for a, b in combinations(extra, 2)]
    return tuple(each for each in found if each)


def _lines(race: Race, name: str) -> dict[int, tuple[float, float]]:
    """{launch: (fixed, step)}: the warm-up's excess over steady steps is part of what is fixed."""
    steps, warm_ups = paired.log_steps(race)[name], _warm_ups(race, name)
    lines = {}
    for launch in sorted(steps.keys() & warm_ups.keys()):
        phases = _phases(race, name, launch)
        first = phases.get(f"first_step:{race.case.task}")
        if first is None:
            continue
        step = math.exp(paired.location(steps[launch].values()))
        warm_up = warm_ups[launch]
        fixed = sum(phases.get(each, 0.0) for each in PREPARATION) + first + sum(warm_up.seconds[:warm_up.steps])
        lines[launch] = (fixed - (1 + warm_up.steps) * step, step)
    return lines


def _warm_ups(race: Race, name: str) -> dict[int, WarmUp]:
    return {each.launch: each for each in race.warm_ups if each.contender == name and each.task == race.case.task}


def _phases(race: Race, name: str, launch: int) -> dict[str, float]:
    return {each.name: each.seconds for each in race.phases
            if each.contender == name and each.launch == launch and each.cache != "cold"}


def _cold(race: Race, name: str) -> float:
    """A cold first step less a warm one."""
    first = [each for each in race.phases
             if each.contender == name and each.name == f"first_step:{race.case.task}"]
    cold, warm = ([each.seconds for each in first if (each.cache == "cold") == is_cold] for is_cold in (True, False))
    return max(0.0, float(np.median(cold) - np.median(warm))) if cold and warm else 0.0


def _crossing(race: Race, a: str, b: str, extra: float) -> Crossing | None:
    lines = [_lines(race, name) for name in (a, b)]
    shared = sorted(lines[0].keys() & lines[1].keys())
    if not shared:
        return None
    fixed, step = np.array([np.subtract(lines[1][launch], lines[0][launch]) for launch in shared]).T
    fixed = fixed + extra
    if np.mean(fixed) * np.mean(step) >= 0:
        return None  # one of them is ahead from the first step on, or never
    early, late = (a, b) if np.mean(fixed) > 0 else (b, a)
    low, high = fieller(fixed, step) if len(shared) > 1 else (None, None)
    return Crossing(early, late, float(-np.mean(fixed) / np.mean(step)), low, high)


def fieller(fixed: np.ndarray, step: np.ndarray, level: float = 0.95) -> tuple[float | None, float | None]:
    """The interval of -mean(fixed) / mean(step) over launches (Fieller 1954): the N at which a t test does
    not reject mean(fixed + N step) = 0. An end that is not bounded is 0 or None."""
    n = len(fixed)
    weight = student.quantile((1 + level) / 2, n - 1) ** 2 / n
    covariance = np.cov(fixed, step, ddof=1)
    square = float(np.mean(step) ** 2 - weight * covariance[1, 1])
    half = float(np.mean(step) * np.mean(fixed) - weight * covariance[0, 1])
    rest = float(np.mean(fixed) ** 2 - weight * covariance[0, 0])
    if square <= 0:
        return 0.0, None
    root = math.sqrt(max(half**2 - square * rest, 0.0))
    return max(0.0, (-half - root) / square), max(0.0, (-half + root) / square)
