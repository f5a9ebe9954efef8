"""Whether groups of launches are alike: the days of a race, the networks of a contender."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

import numpy as np

from photofinish.stats.verdict import ALPHA, decide_apart

ALIKE, DIFFERENT, UNDECIDED = "ALIKE", "DIFFERENT", "UNDECIDED"
Family = TypeVar("Family", bound=Hashable)


def alike(families: Mapping[Family, Sequence[np.ndarray]], margin: float, alpha: float = ALPHA) -> dict[Family, str]:
    """A word for each family of two groups or more, of logs by launch, two or more each. Every two groups of a family
    are compared, nothing pairs them (Welch), all pairs of all families together (Holm): DIFFERENT are those of which
    two differ, ALIKE those of which all pairs are equivalent within the margin."""
    pairs = [(family, pair) for family, groups in families.items() for pair in combinations(groups, 2)]
    found: dict[Family, set[str]] = {}
    for decision, (family, _) in zip(decide_apart([pair for _, pair in pairs], margin, alpha), pairs):
        found.setdefault(family, set()).add(decision.word)
    return {family: DIFFERENT if words & {"FASTER", "SLOWER"} else ALIKE if words == {"EQUIVALENT"} else UNDECIDED
            for family, words in found.items()}


def apart(groups: Sequence[np.ndarray]) -> float:
    """The largest mean over the smallest, as a ratio."""
    means = [float(np.mean(values)) for values in groups]
    return float(np.exp(max(means) - min(means)))
