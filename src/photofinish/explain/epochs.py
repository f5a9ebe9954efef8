"""Where the gap between epochs comes from: waiting for the input pipeline, or the steps on what it gives.

Figures are those of the later epochs, the mean of a launch's. What a loop waited for is what it saw itself: a pipeline
that works beside the steps counts as far as it is late.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.explain.causes import PLACE, Cause, decide, found, settings
from photofinish.stats.curves import curves
from photofinish.stats.paired import mean_interval
from photofinish.values import Estimate, Race
from photofinish.values.profile import INPUT

STEPS = "training steps"
LEAST = 1e-3  # of an epoch


@dataclass(frozen=True)
class Epochs:
    """Of one contender, seconds of an epoch: all of it, those in which it `waited` for batches, and the rest."""

    contender: str
    epoch: Estimate
    waited: Estimate
    steps: Estimate


@dataclass(frozen=True)
class EpochComparison:
    """The gap, seconds(b) - seconds(a) of an epoch, and what is shown to make it, the first cause first."""

    a: str
    b: str
    launches: int
    gap: Estimate
    accounts: tuple[Epochs, Epochs]
    causes: tuple[Cause, ...]


def compare(race: Race, names: Sequence[str]) -> tuple[EpochComparison, ...]:
    """The first with each of the others, of those of `names` whose loops tell what they waited for in all launches."""
    launches = sorted(launch.number for launch in race.launches)
    seconds, waited = (_figures(race, field, launches) for field in ("seconds", "waited"))
    a, *known = [name for name in names if name in waited] or [""]
    parts = {b: settings(a, b, seconds) for b in known}
    series = [{**parts[b][0], (PLACE, INPUT): waited[b] - waited[a],
               (PLACE, STEPS): seconds[b] - waited[b] - (seconds[a] - waited[a])} for b in known]
    causes = [found(a, b, decided, parts[b][1], LEAST * float(np.mean(seconds[a])))
              for b, decided in zip(known, decide(series))]
    return tuple(EpochComparison(a, b, len(launches), mean_interval(seconds[b] - seconds[a]),
                                 (_account(a, seconds[a], waited[a]), _account(b, seconds[b], waited[b])), own)
                 for b, own in zip(known, causes))


def _figures(race: Race, field: str, launches: Sequence[int]) -> dict[str, np.ndarray]:
    """Of each contender by launch; of those that have it in every later epoch."""
    every = {name: [[getattr(epoch, field) for epoch in of.get(launch, ()) if epoch.number > 1] for launch in launches]
             for name, of in curves(race).items()}
    return {name: np.array([np.mean(each) for each in of]) for name, of in every.items()
            if of and all(each and None not in each for each in of)}


def _account(name: str, seconds: np.ndarray, waited: np.ndarray) -> Epochs:
    return Epochs(name, mean_interval(seconds), mean_interval(waited), mean_interval(seconds - waited))
