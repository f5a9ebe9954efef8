"""Tails of latencies: a quantile with its interval, and how many must have been seen before one may be claimed.

How many of one process must be seen follows from the binomial law alone, whatever the latencies' distribution.
Processes keep speeds of their own, though: what is said of all must also hold over launches (docs/concepts/latency.md).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.stats import student
from photofinish.stats.paired import FARTHEST, POINT, location
from photofinish.values import Estimate

LEVEL = 0.95
MOST = 10**9
NODES = 4000  # of the law of a variance, each as likely

Launches = Sequence[Sequence[float]]  # the latencies of each, in seconds


@dataclass(frozen=True)
class Claim:
    """Whether `share` of all latencies stay within `bound` seconds: MET or MISSED with at least `confidence`, else
    UNDECIDED. Of `seen` latencies `over` were longer. Without `more` in a row within the bound it cannot be MET; with 0
    left and no word yet, the launches differ too much, or there is but one."""

    bound: float
    share: float
    confidence: float
    seen: int
    over: int
    word: str
    more: int


def quantile(launches: Launches, share: float, level: float = LEVEL) -> Estimate:
    """The smallest of all latencies that `share` of them do not exceed. Its interval is the widest of three: that
    between two order statistics (David & Nagaraja, Order Statistics, section 7.1), from 0 or to infinity where there
    are too few; the t interval of the launches' own quantiles; and, upwards, the tolerance limit of `_limit`. One
    launch gives a point of level 0."""
    from scipy.stats import binom

    each = [launch for launch in launches if len(launch)]
    ordered = np.sort(np.concatenate(each))
    count = len(ordered)
    value = float(ordered[max(1, math.ceil(share * count)) - 1])
    low = int(binom.ppf((1 - level) / 2, count, share))  # P(fewer than that many lie below the quantile) < (1-level)/2
    high = int(binom.ppf((1 + level) / 2, count, share)) + 1
    ends = float(ordered[low - 1]) if low else 0.0, float(ordered[high - 1]) if high <= count else math.inf
    if len(each) < 2:
        return Estimate(value, *ends, POINT)
    reach = reach_of([math.log(np.quantile(launch, share)) for launch in each], (1 + level) / 2)
    return Estimate(value, min(ends[0], value * math.exp(-reach)),
                    max(ends[1], value * math.exp(reach), _limit(each, share, (1 + level) / 2)), level)


def reach_of(figures: Iterable[float], confidence: float) -> float:
    """From the mean of the launches' figures to its one-sided bound, by Student's t."""
    values = np.fromiter(figures, float)
    return student.quantile(confidence, len(values) - 1) * student.mean_and_error(values)[1]


def _limit(launches: Launches, share: float, confidence: float) -> float:
    """What, with `confidence`, `share` of all latencies do not exceed if the launches' own speeds are log-normal: the
    quantile within launches and that between them, added in quadrature to the mean, where mean and variance are as
    uncertain as n speeds leave them (Krishnamoorthy & Mathew, Statistical Tolerance Regions, 2009, section 5.3: a
    generalized limit. Without a spread within launches it is Owen's tolerance limit of a normal sample).

    It sees that two launches whose latencies are all in time may still differ so much that a third would not be.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtri, ndtr, ndtri

    logs = [np.log(launch) for launch in launches]
    speeds = [location(launch) for launch in logs]
    mean, error = student.mean_and_error(np.array(speeds))
    within = float(np.quantile(np.concatenate([launch - speed for launch, speed in zip(logs, speeds)]), share))
    if not error:
        return math.exp(mean + within)
    inflated = np.sqrt((len(speeds) - 1) / chdtri(len(speeds) - 1, (np.arange(NODES) + 0.5) / NODES))
    errors = error * inflated
    beyond = math.copysign(1.0, share - 0.5) * np.hypot(within, float(ndtri(share)) * math.sqrt(len(speeds)) * errors)

    def lacking(limit: float) -> float:
        return float(np.mean(ndtr((limit - mean - beyond) / errors))) - confidence
    reach = float(np.max(np.abs(beyond) + 10 * errors))  # where it is certain
    return math.exp(min(FARTHEST, brentq(lacking, mean - reach, mean + reach)))


def needed(share: float, over: int, confidence: float) -> int:
    """The fewest latencies of which `over` may exceed a bound so that, with `confidence`, `share` of all keep it.

    The early stopping rule of MLPerf Inference: the smallest n with P(Binomial(n, 1 - share) <= over) no more than
    1 - confidence.
    """
    from scipy.special import bdtr

    low, high = over + 1, MOST
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtr(over, middle, 1 - share) <= 1 - confidence else (middle + 1, high)
    return low


def claim(launches: Launches, bound: float, share: float, confidence: float) -> Claim:
    """What the latencies say of the claim that `share` of all stay within `bound`.

    Enough must have been seen by the binomial law, and the launches must bear it out: their own shares by Student's t,
    and, for MET, the tolerance limit of `_limit`. One launch says nothing of others.
    """
    from scipy.special import bdtrc

    seen, over = sum(map(len, launches)), sum(each > bound for launch in launches for each in launch)
    missed = over > 0 and bdtrc(over - 1, seen, 1 - share) <= 1 - confidence
    more = 0 if missed else max(0, needed(share, over, confidence) - seen)  # of too many late ones more tell no more
    word = "MISSED" if missed else "UNDECIDED" if more else "MET"
    if word != "UNDECIDED" and not borne_out(word, launches, bound, share, confidence):
        word = "UNDECIDED"
    return Claim(bound, share, confidence, seen, over, word, more)


def borne_out(word: str, launches: Launches, bound: float, share: float, confidence: float) -> bool:
    """Whether the launches, each of which is one figure, say so of others."""
    if len(launches) < 2:
        return False
    shares = [float(np.mean(np.asarray(launch) <= bound)) for launch in launches]
    mean, reach = float(np.mean(shares)), reach_of(shares, confidence)
    if word == "MISSED":
        return mean + reach < share
    return mean - reach >= share and _limit(launches, share, confidence) <= bound
