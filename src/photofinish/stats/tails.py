"""Tails of latencies: a quantile with its interval, and how many must have been seen before one may be claimed.

Both rest on the binomial law alone, whatever the latencies' distribution; they take the latencies as independent draws,
which those of one busy stretch of a queue are not (docs/concepts/latency.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from photofinish.values import Estimate

LEVEL = 0.95
MOST = 10**9


@dataclass(frozen=True)
class Claim:
    """Whether `share` of all latencies stay within `bound` seconds: MET or MISSED with at least `confidence`, else
    UNDECIDED. Of `seen` latencies `over` were longer; `more` in a row within the bound would make it MET."""

    bound: float
    share: float
    confidence: float
    seen: int
    over: int
    word: str
    more: int


def quantile(latencies: Sequence[float], share: float, level: float = LEVEL) -> Estimate:
    """The smallest of the latencies that `share` of them do not exceed, with the interval between two order statistics
    (David & Nagaraja, Order Statistics, section 7.1): from 0 or to infinity where there are too few."""
    from scipy.stats import binom

    ordered, count = sorted(latencies), len(latencies)
    low = int(binom.ppf((1 - level) / 2, count, share))  # P(fewer than that many lie below the quantile) < (1-level)/2
    high = int(binom.ppf((1 + level) / 2, count, share)) + 1
    return Estimate(ordered[max(1, math.ceil(share * count)) - 1], ordered[low - 1] if low else 0.0,
                    ordered[high - 1] if high <= count else math.inf, level)


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


def claim(latencies: Sequence[float], bound: float, share: float, confidence: float) -> Claim:
    """What the latencies say of the claim that `share` of all stay within `bound`."""
    from scipy.special import bdtrc

    seen, over = len(latencies), sum(each > bound for each in latencies)
    more = max(0, needed(share, over, confidence) - seen)
    missed = over > 0 and bdtrc(over - 1, seen, 1 - share) <= 1 - confidence
    return Claim(bound, share, confidence, seen, over, "MISSED" if missed else "UNDECIDED" if more else "MET", more)
