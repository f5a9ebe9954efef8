"""From blocks to one number per launch, and from launches to a ratio with its interval.

A block counts as the logarithm of its median step: a spike of the machine inside a block moves nothing
(a contender whose own slow steps the median hides is told by `stats.advice`). Blocks of one round are
neighbours in time, so their difference is free of drift; a launch is the trimmed mean of its rounds'
differences (of few the median); the interval is Student's t over launches, because a process keeps its
own speed.

Contenders of a launch that were not alive together (the field did not fit in memory) are compared through the anchor,
who ran with both: what one takes over the anchor less what the other does, round by round. Such a launch scatters more,
by two processes of the anchor; the t interval bears launches that scatter unequally (docs/concepts/statistics.md).
The processes of a strategy are never alive beside others, and compared launch by launch: a launch is then the
difference of two that ran one after the other, minutes apart, and drift is only averaged.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import median

import numpy as np

from photofinish.stats import curves, student
from photofinish.values import Block, Contender, Estimate, Race

TRIM = 0.2  # of the rounds of a launch, at each end: foreign load hits whole rounds
FEW = 4  # rounds, of which so little would be trimmed that one bad round ruined the launch: they count as their median
MEDIAN_LOSS = {3: 1.346, 4: 1.193}  # variance of a median of so many over that of their mean, under normal noise
FARTHEST = 650.0  # of a log ratio: exp of more is no number of a float
POINT = 0.0  # the level of an interval that is only a point: one launch tells nothing of the spread

Turn = tuple[int, int]  # group and round: blocks of one turn are neighbours in time
Rounds = dict[int, dict[Turn, float]]  # {launch: {turn: log of the block's median seconds per step}}


def timed_blocks(race: Race, contender: str = "") -> list[Block]:
    """The blocks that count: of the race's task, of one contender if named, none superseded by a repetition."""
    return [block for block in race.blocks if block.task == race.case.task and not block.repeated and block.seconds
            and contender in ("", block.contender)]


def timed_launches(race: Race, contender: str) -> dict[int, list[float]]:
    """The seconds of every timed step of one contender, by launch."""
    found: dict[int, list[float]] = defaultdict(list)
    for block in timed_blocks(race, contender):
        found[block.launch] += block.seconds
    return dict(found)


def log_steps(race: Race) -> dict[str, Rounds]:
    """The rounds of each contender of the race; those of one that was never timed are empty. In task epoch the
    rounds are the later epochs; a whole training is one round."""
    if race.case.training is not None:
        return {name: {launch: {turn: math.log(seconds) for turn, seconds in turns.items()}
                       for launch, turns in launches.items()} for name, launches in curves.rounds(race).items()}
    return rounds_of(race.contenders, timed_blocks(race))


def rounds_of(contenders: Iterable[str], blocks: Iterable[Block]) -> dict[str, Rounds]:
    """The rounds of each contender among these blocks."""
    found: dict[str, Rounds] = {name: defaultdict(dict) for name in contenders}
    for block in blocks:
        found[block.contender][block.launch][block.group, block.round] = math.log(median(block.seconds))
    return {name: {launch: dict(sorted(rounds.items())) for launch, rounds in sorted(launches.items())}
            for name, launches in found.items()}


def round_differences(steps: Mapping[str, Rounds], a: str, b: str) -> dict[int, np.ndarray]:
    """{launch: log b - log a of each round that tells}: of those that both ran in, or else through the anchor, or of
    the launch as one where either ran alone."""
    found = {}
    for launch in sorted(steps[a].keys() & steps[b].keys()):
        logs = _together(steps[a][launch], steps[b][launch]) or _through_anchor(steps, a, b, launch) or _whole(
            steps, a, b, launch)
        if logs:
            found[launch] = np.array(list(logs.values()))
    return found


def apart(steps: Mapping[str, Rounds], a: str, b: str) -> int:
    """In how many of the launches that compare them the two were compared through the anchor."""
    return sum(not steps[a][launch].keys() & steps[b][launch].keys() and bool(_through_anchor(steps, a, b, launch))
               for launch in round_differences(steps, a, b))


def _together(a: dict[Turn, float], b: dict[Turn, float]) -> dict[int, float]:
    """{round: log b - log a} of the turns that have both."""
    return {turn[1]: b[turn] - a[turn] for turn in sorted(a.keys() & b.keys())}


def _through_anchor(steps: Mapping[str, Rounds], a: str, b: str, launch: int) -> dict[int, float]:
    """{round: log b - log a, each over the anchor of its own turn}; the anchor is who ran in more groups than one."""
    for rounds in steps.values():
        anchor = rounds.get(launch, {})
        if len({group for group, _ in anchor}) > 1:
            over_a, over_b = (_together(anchor, steps[name][launch]) for name in (a, b))
            return {number: over_b[number] - over_a[number] for number in sorted(over_a.keys() & over_b.keys())}
    return {}


def _whole(steps: Mapping[str, Rounds], a: str, b: str, launch: int) -> dict[int, float]:
    """The launch as one round, if one of them runs alone by its nature, or everybody did in that launch."""
    groups = [next(iter(rounds[launch]))[0] for rounds in steps.values() if rounds.get(launch)]
    if len(set(groups)) < len(groups) and not any(Contender.parse(name).strategy for name in (a, b)):
        return {}
    return {1: location(steps[b][launch].values()) - location(steps[a][launch].values())}


def location(rounds: Iterable[float]) -> float:
    """The 20 % trimmed mean: as good as the mean under normal noise to within some 10 % of its variance, and unmoved by
    a few bad rounds (Wilcox, Robust Estimation, section 3.3). Of few rounds the median, which one bad round of three
    does not ruin."""
    ordered = np.sort(np.fromiter(rounds, float))
    cut = int(TRIM * len(ordered)) if len(ordered) > FEW else (len(ordered) - 1) // 2
    return float(np.mean(ordered[cut:len(ordered) - cut]))


def location_variance(rounds: float) -> float:
    """That of the location of so many rounds, in parts of the variance of one."""
    return MEDIAN_LOSS.get(round(rounds), 1.0) / rounds


def launch_differences(steps: Mapping[str, Rounds], a: str, b: str) -> np.ndarray:
    """log(seconds(b) / seconds(a)) of each launch that compares them: the data of every verdict."""
    return np.array([location(rounds) for rounds in round_differences(steps, a, b).values()])


def interval(logs: np.ndarray, level: float = 0.95) -> Estimate:
    """exp of the mean of `logs` (one per launch) with its t interval. One launch gives a point of level 0."""
    if len(logs) < 2:
        value = math.exp(logs[0])
        return Estimate(value, value, value, POINT)
    mean, error = student.mean_and_error(logs)
    reach = min(student.quantile((1 + level) / 2, len(logs) - 1) * error, FARTHEST)
    return Estimate(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), level)


def mean_interval(values: np.ndarray, level: float = 0.95) -> Estimate:
    """The mean of figures, one per launch, with its t interval: of the figures themselves and not of their logarithms,
    for what is left of a subtraction may be near zero. One launch gives a point of level 0."""
    if len(values) < 2:
        return Estimate(float(values[0]), float(values[0]), float(values[0]), POINT)
    mean, error = student.mean_and_error(values)
    reach = student.quantile((1 + level) / 2, len(values) - 1) * error
    return Estimate(mean, mean - reach, mean + reach, level)


def estimate_ratio(race: Race, a: str, b: str, level: float = 0.95) -> Estimate | None:
    """seconds(b) / seconds(a), above 1 where a is faster; None where no launch compares them."""
    differences = launch_differences(log_steps(race), a, b)
    return interval(differences, level) if len(differences) else None


def launch_steps(steps: Rounds) -> np.ndarray:
    """The log of seconds per step, one per launch."""
    return np.array(list(by_launch(steps).values()))


def by_launch(steps: Rounds) -> dict[int, float]:
    """The same by the number of the launch."""
    return {launch: location(rounds.values()) for launch, rounds in steps.items()}


def estimate_step(race: Race, contender: str, level: float = 0.95) -> Estimate | None:
    """Seconds per step (geometric mean over launches); None where nothing was timed."""
    logs = launch_steps(log_steps(race)[contender])
    return interval(logs, level) if len(logs) else None
