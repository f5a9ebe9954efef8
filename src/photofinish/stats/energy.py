"""Joules: of each contender, from one run of several seconds in each launch."""

from collections.abc import Sequence

import numpy as np

from photofinish.stats import paired, student
from photofinish.values import Consumption, Energy, Estimate, Race


def consumption(race: Race) -> tuple[Consumption, ...]:
    """Of every contender whose energy was measured in the race's task, in the order of the race."""
    if race.metering is None:
        return ()
    runs = {name: [each for each in race.energies if each.contender == name and each.task == race.case.task]
            for name in race.contenders}
    return tuple(_consumption(name, found, race, race.metering.idle) for name, found in runs.items() if found)


def _consumption(name: str, runs: Sequence[Energy], race: Race, watts_idle: dict[str, float]) -> Consumption:
    """The mean over launches, each of which counts as one figure; idle power is that of the race for all."""
    units = np.array([each.steps * race.case.batch * race.case.units for each in runs])
    joules = np.array([sum(each.joules.values()) for each in runs])
    seconds = np.array([each.seconds for each in runs])
    idle = sum(watts_idle.values()) * seconds
    foreign = [each.foreign for each in runs if each.foreign is not None]
    busy = [each.busy for each in runs if each.busy is not None]
    return Consumption(name, len(runs), _mean(joules / units), float(np.mean(idle / units)),
                       _mean((joules - idle) / units), float(np.mean(joules / seconds)), max(foreign, default=None),
                       float(np.mean(busy)) if busy else None)


def _mean(values: np.ndarray, level: float = 0.95) -> Estimate:
    """With its t interval: of the figures themselves and not of their logarithms, for what is left of a subtraction may
    be near zero. One launch gives a point of level 0."""
    if len(values) < 2:
        return Estimate(float(values[0]), float(values[0]), float(values[0]), paired.POINT)
    mean, error = student.mean_and_error(values)
    reach = student.quantile((1 + level) / 2, len(values) - 1) * error
    return Estimate(mean, mean - reach, mean + reach, level)
