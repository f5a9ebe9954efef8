"""What a step costs over links of different rates: the part that no rate changes, and the bits that it waits for.

seconds = fixed + bits / rate, which is Hockney's law of a message (Parallel Computing 20, 1994) added up over a step:
`fixed` holds the computing and what each message takes whatever its length. The line is drawn through the mean of each
rate with errors in proportion to it, and every interval is Student's over the rates: what is predicted is a rate that
was not raced, so what counts is by how much rates miss the line, not how launches scatter. Where computing hides what
is sent (buckets that go on their way while the backward pass goes on), a faster link gains less than the line says;
rates then miss it, and the intervals say so.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean

import numpy as np

from photofinish.stats import paired, student
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.stats.time_split import time_splits
from photofinish.values import Contender, Estimate, Race

FEWEST = 3  # rates that a line and its interval take
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Law:
    """What the line says of one contender: `fixed` seconds of a step, the `bits` that it waits for. `sent` are the
    bytes that one process gives to collectives in a step, by its traces (None: it cannot tell)."""

    contender: str
    fixed: Estimate
    bits: Estimate
    sent: float | None


@dataclass(frozen=True)
class Measured:
    """Seconds per step of one contender at one rate (bits a second), and the prediction from the other rates, by a line
    that was drawn without this one (None: they are too few)."""

    contender: str
    rate: float
    step: Estimate
    held_out: Estimate | None

    @property
    def inside(self) -> bool | None:
        """Whether the prediction holds: its interval has the measured mean in it."""
        return None if self.held_out is None else self.held_out.low <= self.step.value <= self.held_out.high


@dataclass(frozen=True)
class Prediction:
    """Seconds per step at a rate that was not raced."""

    contender: str
    rate: float
    step: Estimate


@dataclass(frozen=True)
class Crossing:
    """The rate at which two contenders take equally long: `slow` is faster over slower links, `fast` over faster ones.
    `rate` is None where their lines do not cross: `slow` is then the faster over any. `shown` is False where the
    interval leaves that open, `raced` whether the rate lies among those raced."""

    slow: str
    fast: str
    rate: Estimate | None
    shown: bool
    raced: bool = False


class Line:
    """Through `seconds` at `rates`, three at least, each with an error in proportion to its `size`; its intervals are
    of that `level`."""

    def __init__(self, rates: Sequence[float], seconds: Sequence[float], sizes: Sequence[float],
                 level: float = CONFIDENCE) -> None:
        from scipy.optimize import curve_fit

        self.slowest = min(rates)  # at which x is 1
        self.level = level
        self.reach = student.quantile((1 + level) / 2, len(rates) - 2)
        x, y, sigma = self.slowest / np.array(rates), np.array(seconds), np.array(sizes)
        self.parameters, self.covariance = curve_fit(
            lambda at, fixed, slope: fixed + slope * at, x, y, p0=(0.0, 0.0), sigma=sigma)
        left = (y - self.parameters @ (np.ones_like(x), x)) / sigma
        self.scatter = math.sqrt(float(left @ left) / (len(x) - 2))

    def law(self) -> tuple[Estimate, Estimate]:
        """Fixed seconds and bits, neither of which can be less than none."""
        reach = self.reach * np.sqrt(np.diag(self.covariance))
        fixed, bits = (Estimate(max(0.0, float(value * size)), max(0.0, float((value - by) * size)),
                                max(0.0, float((value + by) * size)), self.level)
                       for value, by, size in zip(self.parameters, reach, (1.0, self.slowest)))
        return fixed, bits

    def at(self, rate: float) -> Estimate:
        """What a race at that rate will come to."""
        place = np.array([1.0, self.slowest / rate])
        value = float(self.parameters @ place)
        by = self.reach * math.sqrt(float(place @ self.covariance @ place) + (self.scatter * value) ** 2)
        return Estimate(value, max(0.0, value - by), value + by, self.level)

    def differs(self, rate: float) -> bool:
        """Whether it is another figure than zero there."""
        place = np.array([1.0, self.slowest / rate])
        return abs(float(self.parameters @ place)) > self.reach * math.sqrt(float(place @ self.covariance @ place))

    def zero(self) -> Estimate | None:
        """The rate at which it is zero, None where it is at none; its interval are the rates at which it may be
        (Fieller, J. R. Stat. Soc. B 16, 1954), infinity where they do not end."""
        (fixed, slope), ((a, both), (_, b)) = self.parameters.tolist(), (self.reach**2 * self.covariance).tolist()
        if fixed * slope >= 0:
            return None
        square, half, rest = slope**2 - b, fixed * slope - both, fixed**2 - a
        rate = self.slowest * -slope / fixed
        if square <= 0:  # the slope may be none at all
            return Estimate(rate, 0.0, math.inf, self.level)
        root = math.sqrt(max(0.0, half**2 - square * rest))
        low, high = (-half - root) / square, (-half + root) / square
        return Estimate(rate, self.slowest / high, self.slowest / low if low > 0 else math.inf, self.level)


class Model:
    """The races of one sweep over links as lines. Contenders count that were certified and timed at every rate."""

    def __init__(self, races: Sequence[Race]) -> None:
        self.races = {race.case.link.rate: race for race in races if race.case.link is not None}
        self.rates = sorted(self.races)
        self.steps = {name: found for name in dict.fromkeys(name for race in races for name in race.contenders)
                      if len(found := self._steps(name)) == len(self.rates)}
        self.lines = {name: self._line(name, self.rates) for name in self.steps} if len(self.rates) >= FEWEST else {}

    def measured(self) -> list[Measured]:
        return [Measured(name, rate, step, self._held_out(name, rate))
                for name, steps in self.steps.items() for rate, step in steps.items()]

    def laws(self) -> list[Law]:
        return [Law(name, *line.law(), self._sent(name)) for name, line in self.lines.items()]

    def predictions(self, rates: Sequence[float]) -> list[Prediction]:
        return [Prediction(name, rate, line.at(rate)) for name, line in self.lines.items() for rate in rates]

    def crossings(self) -> Iterator[Crossing]:
        """Of each two of which one is several processes at least, with intervals that hold together (Bonferroni)."""
        pairs = [pair for pair in combinations(self.lines, 2) if any(Contender.parse(each).strategy for each in pair)]
        for a, b in pairs:
            yield self._crossing(a, b, 1 - (1 - CONFIDENCE) / len(pairs))

    def _crossing(self, a: str, b: str, level: float) -> Crossing:
        ours, theirs = ([self.steps[each][rate].value for rate in self.rates] for each in (a, b))
        line = Line(self.rates, np.subtract(ours, theirs).tolist(), np.add(ours, theirs).tolist(), level)
        fixed, slope = line.parameters
        slow, fast = (b, a) if (slope, fixed) > (0, 0) else (a, b)
        rate = line.zero()
        if rate is None:
            return Crossing(slow, fast, None, all(map(line.differs, (self.rates[0], self.rates[-1]))))
        return Crossing(slow, fast, rate, math.isfinite(rate.high),
                        self.rates[0] <= rate.value <= self.rates[-1])

    def _steps(self, name: str) -> dict[float, Estimate]:
        """Rate -> seconds of a step."""
        found = {rate: paired.estimate_step(race, name) for rate, race in sorted(self.races.items())
                 if name in race.contenders and not failure_of(race, name) and not no_certificate(race, name)}
        return {rate: step for rate, step in found.items() if step is not None}

    def _line(self, name: str, rates: Sequence[float]) -> Line:
        seconds = [self.steps[name][rate].value for rate in rates]
        return Line(rates, seconds, seconds)

    def _held_out(self, name: str, rate: float) -> Estimate | None:
        others = [each for each in self.rates if each != rate]
        return self._line(name, others).at(rate) if len(others) >= FEWEST else None

    def _sent(self, name: str) -> float | None:
        found = [each.sent for race in self.races.values() for each in time_splits(race) if each.contender == name]
        return mean(found) if found else None


def linked(races: Sequence[Race]) -> bool:
    """Whether they are one sweep over links: the same case but for their rate."""
    links = {race.case.link for race in races}
    return len(links) == len(races) > 1 and None not in links and len({race.case.task for race in races}) == 1
