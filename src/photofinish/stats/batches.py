"""How a contender's throughput and latency change with the batch: the curve, where it flattens, and how surely.

A launch is one point of each batch, so ratios between batches are paired by launch, like those between contenders.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from photofinish.stats import paired, student, tails
from photofinish.stats.energy import consumption
from photofinish.stats.standings import failure_of
from photofinish.values import Consumption, Estimate, Failure, Race, Result

GAIN = 0.05  # of throughput, beyond the knee: what a larger batch gives less of
SHARES = (0.5, 0.9, 0.99)  # of steps, whose latency is told
CONFIDENCE = 0.95
PENALTY = 15.0  # times ln n, in noise variances: what two levels of gain must explain over one (as in stats.steady)
FINEST = 1e-4  # the relative noise below which clocks are not believed

Logs = dict[int, dict[int, float]]  # {batch: {launch: log of seconds per step}}


@dataclass(frozen=True)
class Point:
    """One contender at one batch: seconds per step and per sample, units per second, and the ratio of its throughput to
    that at the batch before. `latencies` are quantiles of its steps, `within` what they say of the bound, if there is
    one. Figures are None for one that `failure` stopped."""

    batch: int
    step: Estimate | None = None
    sample: Estimate | None = None
    throughput: Estimate | None = None
    gain: Estimate | None = None
    latencies: Mapping[float, Estimate] = field(default_factory=dict)
    within: tails.Claim | None = None
    memory: int | None = None
    device_memory: int | None = None
    energy: Consumption | None = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Knee:
    """The smallest batch beyond which no larger one of the sweep gains GAIN or more, by means; at 95 % it is `low` or
    more, and `high` or less. None: not within the sweep. One of the `launches` leaves the range open."""

    batch: int | None
    low: int | None
    high: int | None
    launches: int


@dataclass(frozen=True)
class Trend:
    """Whether throughput rises with the batch at all: Page's test (1963) over launches, whose p value is `chance`, and
    the mean of the launches' Theil-Sen slopes as the ratio of throughputs at twice the batch. A launch counts once: its
    batches share what made it fast or slow."""

    chance: float
    doubling: Estimate


@dataclass(frozen=True)
class Bend:
    """The batch at which the gain changes most: `before` and `after` it, as the ratio of throughputs at twice the
    batch."""

    batch: int
    before: float
    after: float


@dataclass(frozen=True)
class Curve:
    """One contender over the batches of a sweep; `best` is the batch of highest throughput among those shown to keep
    the bound, None if there is none or no bound."""

    contender: str
    points: tuple[Point, ...]
    knee: Knee | None = None
    trend: Trend | None = None
    bend: Bend | None = None
    best: int | None = None

    @property
    def timed(self) -> list[Point]:
        return [each for each in self.points if each.step is not None]


def curves(results: Sequence[Result], bound: float | None = None, share: float = 0.9) -> tuple[Curve, ...]:
    """A curve for each contender of the races of a sweep, in the order given. `bound` is the latency in seconds that
    `share` of the steps should keep."""
    ordered = sorted(results, key=lambda each: each.race.case.batch)
    names = dict.fromkeys(name for each in ordered for name in each.race.contenders)
    return tuple(_curve(name, ordered, bound, share) for name in names)


def _curve(name: str, results: Sequence[Result], bound: float | None, share: float) -> Curve:
    logs: Logs = {}
    points: list[Point] = []
    for result in results:
        race, batch = result.race, result.race.case.batch
        failure = failure_of(race, name)
        steps = paired.by_launch(paired.log_steps(race).get(name, {}))
        if failure is not None or not steps:
            points += [Point(batch, failure=failure)] if failure is not None else []
            continue
        logs[batch] = steps
        before = list(logs)[-2] if len(logs) > 1 else None
        gains = None if before is None else _gains(logs, before, batch)
        points.append(_point(name, result, steps, gains, bound, share))
    timed = [each for each in points if each.throughput is not None]
    able = [each for each in timed if each.within is not None and each.within.word == "MET"]
    best = max(able, key=lambda each: each.throughput.value).batch if able else None  # type: ignore[union-attr]
    return Curve(name, tuple(points), knee(logs), trend(logs), bend(logs), best)


def _point(name: str, result: Result, steps: Mapping[int, float], gains: np.ndarray | None, bound: float | None,
           share: float) -> Point:
    case = result.race.case
    step = paired.interval(np.array(list(steps.values())))
    seconds = list(paired.timed_launches(result.race, name).values())
    standing = next(each for each in result.standings if each.contender == name)
    return Point(case.batch, step, step.scaled(1 / case.batch), step.rate(case.batch * case.units),
                 paired.interval(gains) if gains is not None and len(gains) else None,
                 {each: tails.quantile(seconds, each) for each in SHARES},
                 None if bound is None else tails.claim(seconds, bound, share, CONFIDENCE), standing.memory,
                 standing.device_memory,
                 next((each for each in consumption(result.race) if each.contender == name), None))


def _gains(logs: Logs, small: int, large: int) -> np.ndarray:
    """The log of throughput at the larger batch over that at the smaller, of each launch that has both."""
    return np.array([math.log(large / small) + logs[small][launch] - logs[large][launch]
                     for launch in logs[small].keys() & logs[large].keys()])


def rivals(results: Sequence[Result], best: tuple[str, int],
           others: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Of others, each a contender at a batch, those whose throughput is not shown to be below that of the `best`: of
    whom the 95 % t interval over launches reaches it, and where one launch was run everybody."""
    races = {each.race.case.batch: each.race for each in results}

    def throughput(name: str, batch: int) -> dict[int, float]:
        steps = paired.by_launch(paired.log_steps(races[batch]).get(name, {}))
        return {launch: math.log(batch) - step for launch, step in steps.items()}

    first, found = throughput(*best), []
    for other in others:
        own = throughput(*other)
        less = np.array([first[launch] - own[launch] for launch in first.keys() & own.keys()])
        if len(less) < 2 or paired.mean_interval(less).low <= 0:
            found.append(other)
    return found


def knee(logs: Logs) -> Knee | None:
    """None of fewer than two batches. An interval takes two launches."""
    batches = sorted(logs)
    if len(batches) < 2:
        return None
    mean, low, high = (_flat_from(logs, batches, side) for side in (0, -1, 1))
    return Knee(mean, low, high, min(map(len, logs.values())))


def _flat_from(logs: Logs, batches: Sequence[int], side: int) -> int | None:
    """The smallest batch from which every larger one's gain is below GAIN: by its mean, or by the lower (-1) or upper
    (1) end of its one-sided interval.

    That all upper ends hold at 95 % needs no correction: each must (Berger 1982). One batch after another is shown so,
    the largest first, up to one that is not: the first that is wrong is the only chance of an error. That any lower end
    does not hold is such a chance for each larger batch, which share the 5 % (Bonferroni)."""
    flat = [_flat(logs, small, batches[i + 1:], side) for i, small in enumerate(batches[:-1])]
    if side > 0:
        flat = [all(flat[i:]) for i in range(len(flat))]
    return next((small for small, each in zip(batches, flat) if each), None)


def _flat(logs: Logs, small: int, larger: Sequence[int], side: int) -> bool:
    level = 1 - (1 - CONFIDENCE) / (len(larger) if side < 0 else 1)
    ends = [_end(_gains(logs, small, each), side, level) for each in larger]
    return all(end is not None and end < math.log1p(GAIN) for end in ends)


def _end(gains: np.ndarray, side: int, level: float) -> float | None:
    if len(gains) < (1 if side == 0 else 2):
        return None
    if side == 0:
        return float(np.mean(gains))
    mean, error = student.mean_and_error(gains)
    return mean + side * student.quantile(level, len(gains) - 1) * error


def trend(logs: Logs) -> Trend | None:
    """Of three batches and two launches at least; launches that lack a batch do not count."""
    from scipy.stats import page_trend_test, theilslopes

    batches, table = _table(logs)
    if len(batches) < 3 or len(table) < 2:
        return None
    slopes = np.array([theilslopes(row, np.log2(batches)).slope for row in table])
    return Trend(float(page_trend_test(table).pvalue), paired.interval(slopes))


def bend(logs: Logs) -> Bend | None:
    """The change point of the gains per doubling (ruptures, one change of level, least squares), where two levels tell
    more than one; None of fewer than four batches or two launches."""
    import ruptures

    batches, table = _table(logs)
    if len(batches) < 4 or len(table) < 2:
        return None
    gains = np.diff(table, axis=1) / np.diff(np.log2(batches))
    means = gains.mean(axis=0)
    search = ruptures.Dynp(model="l2", min_size=1, jump=1).fit(means.reshape(-1, 1))
    at, end = search.predict(n_bkps=1)
    noise = max(float(np.mean(gains.var(axis=0, ddof=1))) / len(table), FINEST**2)
    if search.cost.sum_of_costs([end]) - search.cost.sum_of_costs([at, end]) <= PENALTY * math.log(end) * noise:
        return None
    return Bend(batches[at], *(math.exp(float(np.mean(part))) for part in (means[:at], means[at:])))


def _table(logs: Logs) -> tuple[list[int], np.ndarray]:
    """The batches, and the log throughput (samples a second) of every launch that has all of them, a row each."""
    batches = sorted(logs)
    launches = sorted(set.intersection(*(set(each) for each in logs.values()))) if logs else []
    return batches, np.array([[math.log(batch) - logs[batch][launch] for batch in batches] for launch in launches])


def swept(races: Sequence[Race]) -> bool:
    """Whether they are one sweep: the same case but for the batch."""
    return len({race.case.batch for race in races}) == len(races) > 1 and len({race.case.task for race in races}) == 1
