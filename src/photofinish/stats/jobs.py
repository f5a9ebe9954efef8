"""How long your job takes: start, compile, first step, warm-up and N steps of each contender, and from
how many steps on a slow starter with fast steps wins.

A total is a sum: a step counts here as the mean of all that were timed, slow ones included, where the verdict compares
medians (docs/concepts/statistics.md)."""

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from statistics import fmean

import numpy as np

from photofinish.stats import curves, paired, student
from photofinish.stats.verdict import ALPHA, decide_within, share
from photofinish.values import Estimate, Race, WarmUp

PREPARATION = ("start", "import", "build", "weights", "data")

Lines = dict[int, tuple[float, float]]  # {launch: (fixed, step)}, in seconds


@dataclass(frozen=True)
class Job:
    """seconds(N) = fixed + N step, once N exceeds `settled_after`; `step` is a mean. In task epoch N counts epochs, and
    what the first costs beyond a later one is fixed. `cold` is what compiling into an empty cache adds (0 where no such
    figure was taken)."""

    contender: str
    fixed: float
    step: Estimate
    settled_after: int
    cold: float = 0.0

    def seconds(self, steps: float, cold: bool = False) -> float:
        return self.fixed + steps * self.step.value + (self.cold if cold else 0.0)


@dataclass(frozen=True)
class BreakEven:
    """When the total time of `contender` is below that of `against`: `ahead` is "always", "from" `steps` on, "until"
    then, or "never". In task epoch they are epochs. `cold`: in a first run, whose compile time was seen once.

    `low` and `high` bound `steps` at 95 % over launches: `high` is None where the step times are not shown to differ,
    both are where one launch was run. Of "always" and "never", they bound where the lead may change nevertheless (both
    None: that is ruled out).
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
        fixed, steps = np.array(list(lines.values())).T
        step = paired.mean_interval(steps)
        settled = [count for _, count in _begun(race, name).values()]
        made.append(Job(name, float(np.mean(fixed)), replace(step, low=max(0.0, step.low)), int(np.median(settled)),
                        _cold(race, name)))
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
    if ahead in ("always", "never"):
        return BreakEven(a, b, cold, ahead, None, *((None, None) if high == 0 else (low, high)))
    return BreakEven(a, b, cold, ahead, float(-np.mean(fixed) / np.mean(step)), low, high)


def rivals(race: Race, first: str) -> tuple[str, ...]:
    """Who is not shown to finish a first run of one step, the shortest job, later than `first`: of whom the 95 % t
    interval of the difference over launches has 0 or less in it, and where one launch was run everybody."""
    runs = first_run(race, 1)
    found = []
    for name in runs.keys() - {first}:
        later = [runs[name][launch] - runs[first][launch] for launch in runs[name].keys() & runs.get(first, {}).keys()]
        if len(later) < 2 or paired.mean_interval(np.array(later)).low <= 0:
            found.append(name)
    return tuple(sorted(found, key=race.contenders.index))


def shorter(race: Race) -> set[tuple[str, str]]:
    """The pairs whose first is shown to take shorter steps than its second, in the mean: by t tests on the launches
    that have both, held to the error rate of the race's verdicts (Holm)."""
    steps = mean_steps(race)
    logs = {(a, b): np.array([math.log(steps[b][launch] / steps[a][launch])
                              for launch in sorted(steps[a].keys() & steps[b].keys())])
            for a, b in combinations(race.contenders, 2)}
    pairs = [pair for pair in logs if len(logs[pair]) > 1]
    decisions = zip(pairs, decide_within([logs[pair] for pair in pairs], 0.0, ALPHA * share(race)))
    return {(a, b) if each.word == "FASTER" else (b, a) for (a, b), each in decisions if each.word != "UNDECIDED"}


def mean_steps(race: Race) -> dict[str, dict[int, float]]:
    """Contender -> launch -> seconds of its mean step, over all that count: warm-up and what was repeated do not; in
    task epoch of its mean later epoch. {} of one that was never timed."""
    taken = {name: paired.timed_launches(race, name) for name in race.contenders}
    if race.case.training is not None:
        taken.update({name: {launch: list(turns.values()) for launch, turns in launches.items()}
                      for name, launches in curves.rounds(race).items()})
    return {name: {launch: fmean(each) for launch, each in sorted(launches.items())}
            for name, launches in taken.items()}


def launch_lines(race: Race) -> dict[str, Lines]:
    """Of each contender that has any, by its mean step. The excess of the warm-up, or of a first epoch, over the steady
    is part of what is fixed."""
    found: dict[str, Lines] = defaultdict(dict)
    for name, steps in mean_steps(race).items():
        begun = _begun(race, name)
        for launch in sorted(steps.keys() & begun.keys()):
            phases, (seconds, count), step = _phases(race, name, launch), begun[launch], steps[launch]
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
    either way, the positive one. (0, 0) where it rejects that of every N above 0."""
    n = len(fixed)
    weight = student.quantile((1 + level) / 2, n - 1) ** 2 / n
    covariance = np.cov(fixed, step, ddof=1)
    square = float(np.mean(step) ** 2 - weight * covariance[1, 1])
    half = float(np.mean(step) * np.mean(fixed) - weight * covariance[0, 1])
    rest = float(np.mean(fixed) ** 2 - weight * covariance[0, 0])
    root = math.sqrt(max(half**2 - square * rest, 0.0))
    if square == half == 0 < rest:  # the steps are of one length in every launch
        return 0.0, 0.0
    if square < 0 < rest:
        return (-half - root) / square, None
    if square <= 0:
        return 0.0, None
    return max(0.0, (-half - root) / square), max(0.0, (-half + root) / square)
