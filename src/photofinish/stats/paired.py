"""From blocks to one number per launch, and from launches to a ratio with its interval.

A block counts as the logarithm of its median step: a spike of the machine inside a block moves nothing
(a contender whose own slow steps the median hides is told by `stats.advice`). Blocks of one round are
neighbours in time, so their difference is free of drift; a launch is the trimmed mean of its rounds'
differences; the interval is Student's t over launches, because a process keeps its own speed.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from statistics import median

import numpy as np

from photofinish.stats import curves, student
from photofinish.values import Block, Estimate, Race

TRIM = 0.2  # of the rounds of a launch, at each end: foreign load hits whole rounds; none below five rounds
POINT = 0.0  # the level of an interval that is only a point: one launch tells nothing of the spread

Rounds = dict[int, dict[int, float]]  # {launch: {round: log of the block's median seconds per step}}


def timed_blocks(race: Race, contender: str = "") -> list[Block]:
    """The blocks that count: of the race's task, of one contender if named, none superseded by a repetition."""
    return [block for block in race.blocks if block.task == race.case.task and not block.repeated and block.seconds
            and contender in ("", block.contender)]


def log_steps(race: Race) -> dict[str, Rounds]:
    """The rounds of each contender of the race; those of one that was never timed are empty. In task epoch the
    rounds are the later epochs; a whole training is one round."""
    if race.case.training is not None:
        return {name: {launch: {turn: math.log(seconds) for turn, seconds in turns.items()}
                       for launch, turns in launches.items()} for name, launches in curves.rounds(race).items()}
    found: dict[str, Rounds] = {name: defaultdict(dict) for name in race.contenders}
    for block in timed_blocks(race):
        found[block.contender][block.launch][block.round] = math.log(median(block.seconds))
    return {name: {launch: dict(sorted(rounds.items())) for launch, rounds in sorted(launches.items())}
            for name, launches in found.items()}


def round_differences(a: Rounds, b: Rounds) -> dict[int, np.ndarray]:
    """{launch: log b - log a of each round that has both}."""
    shared = {launch: sorted(a[launch].keys() & b[launch].keys()) for launch in sorted(a.keys() & b.keys())}
    return {launch: np.array([b[launch][turn] - a[launch][turn] for turn in turns])
            for launch, turns in shared.items() if turns}


def location(rounds: Iterable[float]) -> float:
    """The 20 % trimmed mean: as good as the mean under normal noise to within some 10 % of its variance,
    and unmoved by a few bad rounds (Wilcox, Robust Estimation, section 3.3)."""
    ordered = np.sort(np.fromiter(rounds, float))
    cut = int(TRIM * len(ordered))
    return float(np.mean(ordered[cut:len(ordered) - cut]))


def launch_differences(a: Rounds, b: Rounds) -> np.ndarray:
    """log(seconds(b) / seconds(a)) of each launch that has both: the data of every verdict."""
    return np.array([location(rounds) for rounds in round_differences(a, b).values()])


def interval(logs: np.ndarray, level: float = 0.95) -> Estimate:
    """exp of the mean of `logs` (one per launch) with its t interval. One launch gives a point of level 0."""
    if len(logs) < 2:
        value = math.exp(logs[0])
        return Estimate(value, value, value, POINT)
    mean, error = student.mean_and_error(logs)
    reach = student.quantile((1 + level) / 2, len(logs) - 1) * error
    return Estimate(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), level)


def estimate_ratio(race: Race, a: str, b: str, level: float = 0.95) -> Estimate | None:
    """seconds(b) / seconds(a), above 1 where a is faster; None where no round has both."""
    steps = log_steps(race)
    differences = launch_differences(steps[a], steps[b])
    return interval(differences, level) if len(differences) else None


def launch_steps(steps: Rounds) -> np.ndarray:
    """The log of seconds per step, one per launch."""
    return np.array([location(rounds.values()) for rounds in steps.values()])


def estimate_step(race: Race, contender: str, level: float = 0.95) -> Estimate | None:
    """Seconds per step (geometric mean over launches); None where nothing was timed."""
    logs = launch_steps(log_steps(race)[contender])
    return interval(logs, level) if len(logs) else None
