"""When to stop warming up: a cheap on-line rule. The series is judged again, with more care, when read
(`stats.steady`)."""

from typing import Sequence

import numpy as np

LEAST = 3  # steps before anything can be said
MOMENT = 0.25  # seconds that short steps are given in any case,
MOST_SHORT = 50  # or this many steps
CALM = 0.01  # the last three steps within this of each other are proof enough in a short series
WIDEST = 20  # steps in each of the two medians compared
SAME = 0.01  # a change of level smaller than this does not matter
STANDARD_ERRORS = 2.0
MEDIAN_ERROR = 1.2533  # a median's standard error over a mean's, under normal noise


def settled(series: Sequence[float]) -> bool:
    """Whether the last steps (seconds) are level.

    In a short series: the last three agree within 1 %. In a longer one: the median of the last third (at
    most 20 steps) equals that of as many before within 1 %, or within the noise of such medians while
    the steps neither fall nor rise by Kendall's S.
    """
    if len(series) < LEAST or (sum(series) < MOMENT and len(series) < MOST_SHORT):
        return False
    logs = np.log(np.maximum(series, 1e-12))
    if len(logs) < 2 * LEAST:
        return bool(np.ptp(logs[-LEAST:]) < CALM)
    width = min(max(LEAST, len(logs) // 3), WIDEST)
    window = logs[-2 * width:]
    before, after = np.median(window[:width]), np.median(window[width:])
    change = abs(after - before)
    return bool(change <= SAME or (change <= _noise_of_change(window) and not _trend(window)))


def _noise_of_change(window: np.ndarray) -> float:
    """What the medians of two halves may differ by; from differences of neighbours, as trends hardly touch them."""
    step = 1.4826 * float(np.median(np.abs(np.diff(window)))) / 2 ** 0.5
    return float(STANDARD_ERRORS * MEDIAN_ERROR * step * (4.0 / len(window)) ** 0.5)


def _trend(window: np.ndarray) -> bool:
    """Whether later steps are more often slower (or faster) than earlier ones by over one standard deviation
    of Kendall's S: a strict test, for a false alarm costs one more step."""
    n = len(window)
    score = sum(float(np.sum(np.sign(window[i + 1:] - window[i]))) for i in range(n - 1))
    return score ** 2 > n * (n - 1) * (2 * n + 5) / 18.0
