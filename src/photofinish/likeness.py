"""Which name may be meant by one that is not there."""

import difflib
from typing import Iterable, List

ALIKE, BESIDE_BEST = 0.6, 0.1  # the least likeness (0 to 1) of a name that may be meant, and how far below the best


def nearest(given: str, names: Iterable[str], most: int = 2) -> List[str]:
    """The names, at `most` so many, that may be meant by `given`: beside the best only what is about as like."""
    near = difflib.get_close_matches(given, list(names), n=most, cutoff=ALIKE)
    likeness = [difflib.SequenceMatcher(a=name, b=given).ratio() for name in near]
    return [name for name, found in zip(near, likeness) if found >= likeness[0] - BESIDE_BEST]
