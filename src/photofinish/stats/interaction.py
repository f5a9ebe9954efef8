"""Does a ratio depend on where it was measured? By the launches of several races.

Shown it is by the two races that differ, of all pairs of them (`alike`). Welch's test of equal means of groups whose
variances differ (Biometrika 38, 1951) says of all races together how far apart they are, and decides nothing: with few
launches of many races it errs far more often than it says, at 2 launches of 24 in 3 of 4 cases instead of 1 in 20.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.stats import paired
from photofinish.stats.alike import DIFFERENT, alike
from photofinish.stats.verdict import ALPHA
from photofinish.values import Race


@dataclass(frozen=True)
class Interaction:
    """Whether the ratio is `shown` to depend on the race; `statistic`, `degrees` and `chance` are of Welch's F."""

    races: int
    statistic: float
    degrees: tuple[float, float]
    chance: float
    shown: bool


def differences(race: Race, a: str, b: str) -> np.ndarray:
    """log seconds(b) - log seconds(a) of each launch."""
    return paired.launch_differences(paired.log_steps(race), a, b)


def interaction(groups: Sequence[np.ndarray], alpha: float = ALPHA) -> Interaction | None:
    """Of at least two races with two launches or more each, which do not repeat themselves to the last digit."""
    from scipy.special import fdtrc

    able = [values for values in groups if len(values) > 1 and np.var(values, ddof=1) > 0]
    k = len(able)
    if k < 2:
        return None
    counts = np.array([len(values) for values in able])
    means = np.array([np.mean(values) for values in able])
    weights = counts / np.array([np.var(values, ddof=1) for values in able])
    centre = float(np.sum(weights * means) / np.sum(weights))
    spread = float(np.sum(weights * (means - centre) ** 2)) / (k - 1)
    unevenness = float(np.sum((1 - weights / np.sum(weights)) ** 2 / (counts - 1)))
    statistic = spread / (1 + 2 * (k - 2) / (k**2 - 1) * unevenness)
    degrees = (float(k - 1), (k**2 - 1) / (3 * unevenness))
    shown = alike({"": able}, 0.0, alpha)[""] == DIFFERENT
    return Interaction(k, statistic, degrees, float(fdtrc(*degrees, statistic)), shown)
