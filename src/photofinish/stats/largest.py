"""The largest batch that fits, by as few fresh processes as may be: which batch to try next.

Sizes have at most five significant bits: 1 to 32, then 34, 36 ... 64, 68, 72 ..., about 3 to 6 % apart. What a process
needs scatters by a few MiB from one to the next, so that the very last sample would be a matter of luck. Memory grows
along a line with the batch: two sizes that fit foretell the largest, and doubling (of the way up or down) and halving
find it where that is wrong.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from photofinish.values import Trial

MOST_TRIALS = 12
FIRST, SECOND = 2, 16  # the sizes whose memory foretells the rest; a BatchNorm may have no variance of one sample
FARTHEST = 64  # times the largest that fits: as far as is ever foretold
_SIZES = tuple(range(1, 32)) + tuple(mantissa << power for power in range(1, 20) for mantissa in range(16, 32))


def largest(trials: Sequence[Trial]) -> int:
    """The largest batch that was seen to fit; 0 if none was."""
    return max((each.batch for each in trials if each.fits), default=0)


def smallest_beyond(trials: Sequence[Trial]) -> int | None:
    """The smallest batch that was seen not to fit."""
    return min((each.batch for each in trials if not each.fits), default=None)


def exact(trials: Sequence[Trial]) -> bool:
    """Whether no size is left between the two."""
    beyond = smallest_beyond(trials)
    return beyond is not None and _index(beyond) == _index(largest(trials)) + 1


def next_batch(trials: Sequence[Trial], limit: int | None = None) -> int | None:
    """The batch to try after those, in the order they were tried; None when the largest is known, or MOST_TRIALS were
    made. `limit` is what a process may hold, in bytes, of the memory that fills up: its own, or the device's."""
    fits, beyond = _index(largest(trials)), smallest_beyond(trials)
    end = len(_SIZES) if beyond is None else _index(beyond)
    if end == fits + 1 or len(trials) >= MOST_TRIALS:
        return None
    if not trials:
        return FIRST
    tried = sum(each.fits for each in trials)
    if tried == 1 and beyond is None:
        return SECOND
    foretold = _foretold(trials, limit)
    if beyond is None:
        step = 1 << max(0, tried - 3)  # foretold sizes that fit one after another are no foretelling
        reach = min(foretold or SECOND // FIRST * _SIZES[fits], FARTHEST * _SIZES[fits])
        return _SIZES[min(max(_index(reach), fits + step), end - 1)]
    middle, failed = (fits + end) // 2, len(trials) - tried
    if foretold is None or foretold > 2 * beyond:
        return _SIZES[middle]
    if trials[-1].fits and fits < _index(foretold) < end and failed < 3:
        return _SIZES[_index(foretold)]
    return _SIZES[max(middle, end - (1 << failed - 1))]


def _index(batch: float) -> int:
    """The place of the largest size that is at most `batch`; -1 below the smallest."""
    return bisect_right(_SIZES, batch) - 1


def _foretold(trials: Sequence[Trial], limit: int | None) -> float | None:
    """Where the line through the two largest that fit reaches the limit; None where there is no such line."""
    held = dict(sorted((each.batch, each.device_memory or each.memory) for each in trials if each.fits))
    if limit is None or len(held) < 2:
        return None
    (less, low), (more, high) = list(held.items())[-2:]
    slope = (high - low) / (more - less)
    return more + (limit - high) / slope if slope > 0 else None
