"""Whole trainings: when each contender reached the target, launch by launch."""

from collections import defaultdict

from photofinish.values import Epoch, Race

Curves = dict[str, dict[int, tuple[Epoch, ...]]]  # {contender: {launch: its epochs in order}}


def curves(race: Race) -> Curves:
    """The epochs of each contender of the race; those of one that has none are empty."""
    found: dict[str, dict[int, list[Epoch]]] = {name: defaultdict(list) for name in race.contenders}
    for epoch in race.epochs:
        found[epoch.contender][epoch.launch].append(epoch)
    return {name: {launch: tuple(sorted(epochs, key=lambda each: each.number))
                   for launch, epochs in sorted(launches.items())} for name, launches in found.items()}


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


def rounds(race: Race) -> dict[str, dict[int, dict[int, float]]]:
    """Contender -> launch -> round -> seconds: each epoch but the first, or in task fit the one training."""
    if race.case.task == "fit":
        return {name: {launch: {1: taken} for launch, taken in launches.items()}
                for name, launches in seconds(race).items()}
    later = {name: {launch: {each.number: each.seconds for each in epochs if each.number > 1}
                    for launch, epochs in launches.items()} for name, launches in curves(race).items()}
    return {name: {launch: turns for launch, turns in launches.items() if turns} for name, launches in later.items()}


def seconds(race: Race) -> dict[str, dict[int, float]]:
    """Contender -> launch -> seconds. Who missed the target in any launch has none: those that it did reach would be a
    choice of its best."""
    late = missed(race)
    return {name: {} if name in late else
            {launch: taken for launch, epochs in launches.items()
             if (taken := seconds_needed(epochs, race)) is not None}
            for name, launches in curves(race).items()}


def missed(race: Race) -> dict[str, str]:
    """Contender -> in how many of its trainings it never reached the target; nothing of those that always did."""
    training = race.case.training
    if training is None or training.target is None:
        return {}
    found = {}
    for name, launches in curves(race).items():
        whole = [epochs for epochs in launches.values() if len(epochs) >= training.epochs]
        reached = sum(epochs_needed(epochs, race) is not None for epochs in whole)
        if reached < len(whole):
            found[name] = (f"{name} reached {training.target:.4g} of validation accuracy in {reached} of "
                           f"{len(whole)} trainings")
    return found
