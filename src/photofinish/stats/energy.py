"""Joules: of each contender, from one run of several seconds in each launch, or from the epochs of one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from photofinish.stats import paired
from photofinish.values import Consumption, Energy, Race


def consumption(race: Race) -> tuple[Consumption, ...]:
    """Of every contender whose energy was measured in the race's task, in the order of the race."""
    if race.metering is None:
        return ()
    return tuple(_consumption(name, found, race, race.metering.idle) for name, found in _runs(race).items() if found)


def per_unit(race: Race) -> dict[str, dict[int, float]]:
    """Contender -> launch -> joules for each unit of throughput."""
    return {name: {launch: sum(sum(each.joules.values()) for each in runs) / sum(_units(each, race) for each in runs)
                   for launch, runs in launches.items()} for name, launches in _runs(race).items()}


def _runs(race: Race) -> dict[str, dict[int, list[Energy]]]:
    """Contender -> launch -> the runs that count: several of an anchor, which runs in every group."""
    found: dict[str, dict[int, list[Energy]]] = {name: defaultdict(list) for name in race.contenders}
    for each in race.energies:
        if each.task == race.case.task and _counts(each):
            found[each.contender][each.launch].append(each)
    return found


def _counts(run: Energy) -> bool:
    """In task epoch the first epoch stands apart, as its time does."""
    return run.task != "epoch" or run.epoch != 1


def _consumption(name: str, launches: Mapping[int, Sequence[Energy]], race: Race,
                 watts_idle: dict[str, float]) -> Consumption:
    """The mean over launches, each of which counts as one figure; idle power is that of the race for all."""
    units, joules, seconds = (np.array([sum(map(of, runs)) for runs in launches.values()]) for of in (
        lambda each: _units(each, race), lambda each: sum(each.joules.values()), lambda each: each.seconds))
    idle = sum(watts_idle.values()) * seconds
    all_runs = [each for runs in launches.values() for each in runs]
    foreign = [each.foreign for each in all_runs if each.foreign is not None]
    busy = [each.busy for each in all_runs if each.busy is not None]
    return Consumption(name, len(launches), paired.mean_interval(joules / units), float(np.mean(idle / units)),
                       paired.mean_interval((joules - idle) / units), float(np.mean(joules / seconds)),
                       float(np.mean(seconds)), max(foreign, default=None), float(np.mean(busy)) if busy else None)


def _units(run: Energy, race: Race) -> float:
    """Of throughput, that the run worked on: where a short batch counts as a step, those of the data set."""
    case = race.case
    if run.task == "epoch" and case.training is not None:
        return case.training.samples * case.units
    return run.steps * case.batch * case.units
