"""Whole trainings: when each contender reached the target, launch by launch."""

import math
from collections import defaultdict
from statistics import fmean

import numpy as np

from photofinish.values import Epoch, Race

Curves = dict[str, dict[int, tuple[Epoch, ...]]]  # {contender: {launch: its epochs in order}}
Place = tuple[int, int]  # launch and group


def trainings(race: Race) -> dict[str, dict[Place, tuple[Epoch, ...]]]:
    """The epochs of each training of each contender of the race, in order; none of one that has none."""
    found: dict[str, dict[Place, list[Epoch]]] = {name: defaultdict(list) for name in race.contenders}
    for epoch in race.epochs:
        found[epoch.contender][epoch.launch, epoch.group].append(epoch)
    return {name: {place: tuple(sorted(epochs, key=lambda each: each.number))
                   for place, epochs in sorted(places.items())} for name, places in found.items()}


def curves(race: Race) -> Curves:
    """The same by launch: where the anchor trained once in each group, from the same weights in the same order, the
    first of these trainings."""
    found: Curves = {name: {} for name in race.contenders}
    for name, places in trainings(race).items():
        for (launch, _), epochs in places.items():
            found[name].setdefault(launch, epochs)
    return found


def excess(race: Race, name: str) -> np.ndarray:
    """log seconds of a contender's first epoch less the mean log of its later ones, of each launch that has both."""
    found = []
    for epochs in curves(race).get(name, {}).values():
        later = [math.log(each.seconds) for each in epochs if each.number > 1]
        found += [math.log(each.seconds) - fmean(later) for each in epochs if each.number == 1 and later]
    return np.array(found)


def epochs_needed(epochs: tuple[Epoch, ...], race: Race) -> int | None:
    """After how many epochs the training was over: at the first whose validation accuracy reaches the target, or where
    there is none after all of them. None if that has not come."""
    training = race.case.training
    assert training is not None
    if training.target is None:
        return training.epochs if len(epochs) >= training.epochs else None
    return next((each.number for each in epochs
                 if each.validation_accuracy is not None and each.validation_accuracy >= training.target), None)


def seconds_needed(epochs: tuple[Epoch, ...], race: Race) -> float | None:
    """The same in seconds, of training and of looking at the validation samples after each epoch."""
    count = epochs_needed(epochs, race)
    return None if count is None else sum(each.seconds + (each.validation_seconds or 0.0) for each in epochs[:count])


def rounds(race: Race) -> dict[str, dict[int, dict[tuple[int, int], float]]]:
    """Contender -> launch -> group and round -> seconds: each epoch but the first, or in task fit the one training. Who
    missed the target in any training has none: those that reached it would be a choice of its best."""
    late = missed(race)
    found: dict[str, dict[int, dict[tuple[int, int], float]]] = {name: defaultdict(dict) for name in race.contenders}
    for name, places in trainings(race).items():
        for (launch, group), epochs in places.items():
            if race.case.task == "epoch":
                turns = {(group, each.number): each.seconds for each in epochs if each.number > 1}
            else:
                taken = None if name in late else seconds_needed(epochs, race)
                turns = {} if taken is None else {(group, 1): taken}
            if turns:
                found[name][launch].update(turns)
    return {name: dict(sorted(launches.items())) for name, launches in found.items()}


def missed(race: Race) -> dict[str, str]:
    """Contender -> in how many of its trainings it never reached the target; nothing of those that always did."""
    training = race.case.training
    if training is None or training.target is None:
        return {}
    found = {}
    for name, places in trainings(race).items():
        whole = [epochs for epochs in places.values() if len(epochs) >= training.epochs]
        reached = sum(epochs_needed(epochs, race) is not None for epochs in whole)
        if reached < len(whole):
            found[name] = (f"{name} reached {training.target:.4g} of validation accuracy in {reached} of "
                           f"{len(whole)} trainings")
    return found
