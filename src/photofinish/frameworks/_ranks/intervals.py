"""Stretches of time, as pairs of where each begins and ends."""

from typing import Iterable, List, Tuple

Stretches = List[Tuple[float, float]]


def union(found: Iterable[Tuple[float, float]]) -> Stretches:
    """In order, none touching the next."""
    joined: Stretches = []
    for begin, end in sorted(found):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return joined


def outside(found: Stretches, others: Stretches) -> Stretches:
    """What of them no other covers; both as `union` leaves them."""
    left: Stretches = []
    for begin, end in found:
        for start, stop in others:
            if start < end and stop > begin:
                if start > begin:
                    left.append((begin, start))
                begin = max(begin, stop)
        if begin < end:
            left.append((begin, end))
    return left


def length(found: Stretches) -> float:
    return sum(end - begin for begin, end in found)
