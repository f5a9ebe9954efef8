"""Which of several to take where each launch gave each a cost: the one of least mean cost, the chance that it is the
best, and what is lost if it is not.

The means that there may be in truth are drawn from the multivariate t distribution around those seen, with as many
degrees of freedom as the difference of two has: what remains of it under normal noise and no opinion beforehand (as in
Gelman et al., Bayesian Data Analysis, section 3.6). A bootstrap over so few launches sees too little spread: of two
that differ by 1 %, what was lost exceeded its worst of 20 cases in one of eight. The chance is an upper one where
contenders are many and alike: who seems the best was lucky, too (of 8 alike in 4 launches 0.55 is said, 0.44 true).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from photofinish.stats import paired
from photofinish.values import Estimate

DRAWS = 4000
LEVEL = 0.95
FEWEST = 3  # launches: of two the expected regret has no end

Costs = Mapping[str, Mapping[int, float]]  # {contender: {launch: cost}}


@dataclass(frozen=True)
class Option:
    """What one contender costs (mean over launches, with its t interval); the chance that it is the best of all; and
    its regret: what it costs more than whichever is, as a share of the least cost seen, expected and in the worst of 20
    cases. Fewer than three launches tell neither: None."""

    contender: str
    cost: Estimate
    chance: float | None = None
    regret: float | None = None
    worst_regret: float | None = None


def options(costs: Costs) -> tuple[Option, ...]:
    """The cheapest first, from the launches that all share. Empty where no launch has them all."""
    launches = sorted(set.intersection(*(set(each) for each in costs.values()))) if costs else []
    if not launches:
        return ()
    table = np.array([[costs[name][launch] for name in costs] for launch in launches])
    risks = _risks(table) if len(launches) >= FEWEST else [(None, None, None)] * len(costs)
    found = [Option(name, _cost(table[:, i]), *risks[i]) for i, name in enumerate(costs)]
    return tuple(sorted(found, key=lambda each: each.cost.value))


def over(costs: Costs, first: str, second: str) -> Estimate | None:
    """What the first costs over the second: the geometric mean over the launches that both have; None without any."""
    launches = sorted(costs.get(first, {}).keys() & costs.get(second, {}).keys())
    logs = [math.log(costs[first][each] / costs[second][each]) for each in launches]
    return paired.interval(np.array(logs), LEVEL) if logs else None


def _risks(table: np.ndarray) -> list[tuple[float | None, float | None, float | None]]:
    """(chance, regret, worst regret) of each column; rows are launches."""
    count = len(table)
    seen = table.mean(axis=0)
    generator = np.random.default_rng(0)
    normal = generator.standard_normal((DRAWS, count)) @ (table - seen) / np.sqrt(count * (count - 1))
    means = seen + normal * np.sqrt((count - 1) / generator.chisquare(count - 1, (DRAWS, 1)))
    regrets = (means - means.min(axis=1, keepdims=True)) / seen.min()
    chances = np.bincount(means.argmin(axis=1), minlength=table.shape[1]) / DRAWS
    worst = np.quantile(regrets, LEVEL, axis=0)
    return [(float(chances[i]), float(regrets[:, i].mean()), float(worst[i])) for i in range(table.shape[1])]


def _cost(values: np.ndarray) -> Estimate:
    """Nothing costs less than nothing."""
    found = paired.mean_interval(values, LEVEL)
    return replace(found, low=max(0.0, found.low))
