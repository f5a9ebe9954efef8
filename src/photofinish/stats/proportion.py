"""How sure a share is that was counted: the accuracy of guesses."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from photofinish.values import Accuracy, Estimate

LEVEL = 0.95


def wilson(successes: int, trials: int, level: float = LEVEL) -> Estimate:
    """The share and its score interval (Wilson 1927, JASA 22, 209), which stays inside 0 to 1 and is sound for few
    trials and for shares near the ends."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, weight = successes / trials, z * z / trials
    middle = (share + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * math.sqrt(share * (1 - share) / trials + weight / (4 * trials))
    return Estimate(share, max(0.0, middle - reach), min(1.0, middle + reach), level)


def judge_guesses(guesses: Mapping[str, np.ndarray], labels: Sequence[int]) -> tuple[Accuracy, ...]:
    """The accuracy of each contender on the same images, and how many it guesses unlike each other one."""
    found = []
    for name, own in guesses.items():
        right = int(np.sum(own == np.asarray(labels)))
        unlike = {other: int(np.sum(own != theirs)) for other, theirs in guesses.items() if other != name}
        found.append(Accuracy(name, len(labels), right, wilson(right, len(labels)), unlike))
    return tuple(found)
