"""Whether and when the steps of a launch became steady: change points of the level, then a class.

After Barrett et al., "Virtual machine warmup blows hot and cold" (OOPSLA 2017), on log time: PELT on mean
and variance with penalty 15 ln n; a segment equals the last one if their bands, mean ± standard
deviation, meet. (Their code compares means with variances; here both have the unit of time, and the band
of the last is at least 1 %.)
"""

import math
import warnings
from collections.abc import Sequence

import numpy as np

PENALTY = 15.0  # times ln n
LEAST = 3  # steps in a segment
BAND = 0.01  # the least half-width, relative, within which two levels are the same
TAIL = 0.25  # of the series: whatever still changes in it has not settled
SPIKE = 5.0  # noise levels by which an isolated step, or a first one, stands out
FINEST = 1e-4  # the relative noise below which clocks are not believed
PLACES = 60  # at most where a change is looked for: PELT in Python slows with their square


def steady(series: Sequence[float]) -> tuple[str, int]:
    """The class of a warm-up series (seconds, from the second step on) and how many steps came before the
    steady ones: "flat", "warmup" (slower before), "slowdown" (faster before), "no steady state".

    Isolated slow steps do not count, except at the very start, where they are the warm-up.
    """
    if len(series) < LEAST:
        return "no steady state", len(series)
    logs = np.log(np.maximum(series, 1e-12))
    noise = max(_noise(logs), FINEST)
    calm = _without_spikes(logs, noise)
    segments = _segments(calm / noise)
    last = calm[slice(*segments[-1])]
    band = max(float(np.std(last)), BAND)
    level = float(np.mean(last))
    for begin, end in reversed(segments[:-1]):
        mean, deviation = float(np.mean(calm[begin:end])), float(np.std(calm[begin:end]))
        if abs(mean - level) <= deviation + band:
            continue
        if end > len(calm) * (1 - TAIL):
            return "no steady state", len(series)
        return ("warmup" if mean > level else "slowdown"), end + _slow_start(calm[end:], level, noise)
    begin = _slow_start(calm, level, noise)
    return ("warmup" if begin else "flat"), begin


def _noise(logs: np.ndarray) -> float:
    """The standard deviation of one step, from the differences of neighbours: levels and trends drop out."""
    differences = np.diff(logs)
    return 1.4826 * float(np.median(np.abs(differences - np.median(differences)))) / math.sqrt(2)


def _without_spikes(logs: np.ndarray, noise: float) -> np.ndarray:
    """Inner steps that stand out from the median of the five around them are replaced by it."""
    if len(logs) < 5:
        return logs
    calm = logs.copy()
    middle = np.median(np.lib.stride_tricks.sliding_window_view(logs, 5), axis=1)
    inner = calm[2:-2]
    spikes = np.abs(inner - middle) > SPIKE * noise
    inner[spikes] = middle[spikes]
    return calm


def _segments(values: np.ndarray) -> list[tuple[int, int]]:
    """The stretches of one level in `values` (noise of about 1), as (begin, end)."""
    if len(values) < 2 * LEAST:
        return [(0, len(values))]
    import ruptures

    jump = max(1, len(values) // PLACES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ruptures tells that it adds 1e-6 to variances: nothing beside 1
        search = ruptures.Pelt(model="normal", min_size=LEAST, jump=jump).fit(values.reshape(-1, 1))
    ends = search.predict(pen=PENALTY * math.log(len(values)))
    return list(zip([0, *ends[:-1]], ends))


def _slow_start(logs: np.ndarray, level: float, noise: float) -> int:
    """How many leading steps are each slower than the level by more than noise: too few for a segment."""
    slow = logs > level + max(SPIKE * noise, BAND)
    return int(np.argmin(slow)) if not slow.all() else len(logs)
