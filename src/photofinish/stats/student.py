"""Student's t and chi-square for the rest of the room. scipy is imported at the first call, so that
`import photofinish` stays light."""

import math

import numpy as np

MOST = 100_000  # launches, which nobody runs


def quantile(probability: float, degrees: float) -> float:
    """The t value below which lies `probability`."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def tail(t: float, degrees: float) -> float:
    """The chance of a t value above `t`."""
    from scipy.special import stdtr

    return float(stdtr(degrees, -t))


def confidence(*levels: float) -> str:
    """How sure intervals are: 95 %; 98.3 to 99.97 %, from the least to the most. None is written as certain."""
    return f"{' to '.join(dict.fromkeys(_percent(end(levels)) for end in (min, max)))} %"


def _percent(level: float) -> str:
    rounded, doubt = f"{100 * level:.3g}", 100 - 100 * level
    return rounded if rounded != "100" or doubt <= 0 else f"{100 * level:.{-math.floor(math.log10(doubt))}f}"


def launches_needed(spread: float, half_width: float, level: float, power: float = 0.5, most: int = MOST) -> int:
    """The smallest n with (t(1 - level) + t(power)) spread / sqrt(n) <= half_width, each t at n - 1 degrees.

    `level` is one-sided. With power 0.5 it is the n at which an interval reaches `half_width`
    (Stein's rule, with the degrees of freedom of the outcome). `most` if that is not enough.
    """
    from scipy.special import stdtrit

    if spread <= 0 < half_width:
        return 2
    low, high = 2, most
    while low < high:
        middle = (low + high) // 2
        t = stdtrit(middle - 1, 1 - level) + stdtrit(middle - 1, power)
        low, high = (low, middle) if t * spread <= half_width * math.sqrt(middle) else (middle + 1, high)
    return low


def assured(spread: float, degrees: int, assurance: float) -> float:
    """A standard deviation that the true one stays below with probability `assurance`."""
    from scipy.special import chdtri

    return spread * math.sqrt(degrees / float(chdtri(degrees, assurance)))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean of at least two values and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def difference_and_error(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """mean(b) - mean(a) of independent samples of two or more, its standard error and its degrees of freedom, where
    their variances may differ (Welch, Biometrika 34, 1947)."""
    parts = [float(np.var(values, ddof=1)) / len(values) for values in (a, b)]
    variance = sum(parts)
    degrees = variance**2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (a, b)) if part) if (
        variance) else len(a) + len(b) - 2
    return float(np.mean(b) - np.mean(a)), math.sqrt(variance), degrees
