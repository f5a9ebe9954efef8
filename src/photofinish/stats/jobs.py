"""How long your job takes: start, compile, first step, warm-up and N steps of each contender, and from
how many steps on a slow starter with fast steps wins."""

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from photofinish.stats import paired, student
from photofinish.values import Race, WarmUp

PREPARATION = ("start", "import", "build", "weights", "data")

Lines = dict[int, tuple[float, float]]  # {launch: (fixed, step)}, in seconds


@dataclass(frozen=True)
class Job:
    """seconds(N) = fixed + N step, once N exceeds `settled_after`. In task epoch N counts epochs, and what the first
    costs beyond a later one is fixed. `cold` is what compiling into an empty cache adds (0 where no such figure was
    taken)."""

    contender: str
    fixed: float
    step: float
    settled_after: int
    cold: float = 0.0

    def seconds(self, steps: float, cold: bool = False) -> float:
        return self.fixed + steps * self.step + (self.cold if cold else 0.0)


@dataclass(frozen=True)
class BreakEven:
    """When the total time of `contender` is below that of `against`: `ahead` is "always", "from" `steps` on, "until"
    then, or "never". In task epoch they are epochs. `cold`: in a first run, whose compile time was seen once.

    `low` and `high` bound `steps` at 95 % over launches: `high` is None where the step times are not shown to differ,
    both are where one launch was run. Of "never", `low` is the earliest that is not ruled out (None: it is).
    """

    contender: str
    against: str
    cold: bool
    ahead: str
    steps: float | None = None
    low: float | None = None
    high: float | None = None


def jobs(race: Race) -> tuple[Job, ...]:
    """A line for each contender whose phases and steps were both measured: means over launches."""
    made = []
    for name, lines in launch_lines(race).items():
        fixed, step = np.mean(list(lines.values()), axis=0)
        settled = [count for _, count in _begun(race, name).values()]
        made.append(Job(name, float(fixed), float(step), int(np.median(settled)), _cold(race, name)))
    return tuple(made)


def break_evens(race: Race, cold: bool = False) -> tuple[BreakEven, ...]:
    """Each contender against each other one that was timed in the same launches."""
    lines = launch_lines(race)
    found = []
    for a, b in permutations(lines, 2):
        shared = sorted(lines[a].keys() & lines[b].keys())
        if shared:
            fixed, step = np.array([np.subtract(lines[a][launch], lines[b][launch]) for launch in shared]).T
            extra = _cold(race, a) - _cold(race, b) if cold else 0.0
            found.append(_break_even(a, b, cold, fixed + extra, step))
    return tuple(found)


def _break_even(a: str, b: str, cold: bool, fixed: np.ndarray, step: np.ndarray) -> BreakEven:
    """`fixed` and `step` are those of a less those of b, launch by launch."""
    later = np.mean(fixed) > 0
    longer = np.mean(step) >= 0 if later else np.mean(step) > 0  # equal steps leave it to the start
    ahead = {(True, False): "from", (False, False): "always", (True, True): "never", (False, True): "until"}[
        bool(later), bool(longer)]
    low, high = fieller(fixed, step) if len(fixed) > 1 else (None, None)
    if ahead == "always":
        return BreakEven(a, b, cold, ahead)
    if ahead == "never":
        return BreakEven(a, b, cold, ahead, low=low if high is None else None)
    return BreakEven(a, b, cold, ahead, float(-np.mean(fixed) / np.mean(step)), low, high)


def launch_lines(race: Race) -> dict[str, Lines]:
    """Of each contender that has any. The excess of the warm-up, or of a first epoch, over the steady is part of what
    is fixed."""
    found: dict[str, Lines] = defaultdict(dict)
    for name, steps in paired.log_steps(race).items():
        begun = _begun(race, name)
        for launch in sorted(steps.keys() & begun.keys()):
            phases, (seconds, count) = _phases(race, name, launch), begun[launch]
            step = math.exp(paired.location(steps[launch].values()))
            fixed = sum(phases.get(each, 0.0) for each in PREPARATION) + seconds - count * step
            found[name][launch] = fixed, step
    return found


def first_run(race: Race, steps: int) -> dict[str, dict[int, float]]:
    """Contender -> launch -> seconds of a first run of so many steps, whose compile time was seen once. Of a job that
    ends within the warm-up, what the steps that it does not come to take beyond steady ones is none of its time."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for name, lines in launch_lines(race).items():
        cold, warm_ups = _cold(race, name), _warm_ups(race, name)
        for launch, (fixed, step) in lines.items():
            warm_up = warm_ups.get(launch)
            left = warm_up.seconds[steps - 1:warm_up.steps] if warm_up is not None else ()
            found[name][launch] = fixed + cold + steps * step - sum(each - step for each in left)
    return found


def _begun(race: Race, name: str) -> dict[int, tuple[float, int]]:
    """{launch: seconds until what comes next is steady, and how many steps or epochs those were}; nothing in task fit,
    where nobody chooses how many there are, nor under a load, where time passes between queries, too."""
    if race.case.load is not None:
        return {}
    if race.case.training is None:
        return _first_steps(race, name)
    firsts = [each for each in race.epochs if each.contender == name and each.number == 1]
    return {each.launch: (each.seconds, 1) for each in firsts} if race.case.task == "epoch" else {}


def _first_steps(race: Race, name: str) -> dict[int, tuple[float, int]]:
    found = {}
    for launch, warm_up in _warm_ups(race, name).items():
        first = _phases(race, name, launch).get(f"first_step:{race.case.task}")
        if first is not None:
            found[launch] = first + sum(warm_up.seconds[:warm_up.steps]), 1 + warm_up.steps
    return found


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


def fieller(fixed: np.ndarray, step: np.ndarray, level: float = 0.95) -> tuple[float | None, float | None]:
    """The interval of -mean(fixed) / mean(step) over launches (Fieller 1954): the N at which a t test does
    not reject mean(fixed + N step) = 0. An end that is not bounded is 0 or None; of two parts that reach to infinity
    either way, the positive one."""
    n = len(fixed)
    weight = student.quantile((1 + level) / 2, n - 1) ** 2 / n
    covariance = np.cov(fixed, step, ddof=1)
    square = float(np.mean(step) ** 2 - weight * covariance[1, 1])
    half = float(np.mean(step) * np.mean(fixed) - weight * covariance[0, 1])
    rest = float(np.mean(fixed) ** 2 - weight * covariance[0, 0])
    root = math.sqrt(max(half**2 - square * rest, 0.0))
    if square < 0 < rest:
        return (-half - root) / square, None
    if square <= 0:
        return 0.0, None
    return max(0.0, (-half - root) / square), max(0.0, (-half + root) / square)
