"""How much of the speed of N processes is left: where they share the batch of one (strong scaling), and where each has
as much as one alone (weak scaling)."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from photofinish.stats.paired import by_launch, interval, launch_differences, log_steps
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.values import Contender, Estimate, Race, Scaling

# Options that say how several processes run, not what each computes.
RANKS = ("threads", "rank", "hook", "bucket", "matrix_rank", "sync")


def scalings(race: Race) -> tuple[Scaling, ...]:
    """One for each contender of several processes, certified and timed, beside one process of the same share of
    threads."""
    steps = log_steps(race)
    found = []
    for name in race.contenders:
        one = one_process(race, name)
        if one is None or any(failure_of(race, each) or no_certificate(race, each) for each in (name, one)):
            continue
        logs = launch_differences(steps, name, one)
        if len(logs):
            world, speedup = Contender.parse(name).world, interval(logs)
            batch = race.case.batch
            found.append(Scaling(name, one, world, batch, batch, len(logs), speedup, _scaled(speedup, 1 / world)))
    return tuple(found)


def weak_scalings(races: Iterable[Race]) -> tuple[Scaling, ...]:
    """One for each contender of several processes and batch in races that differ in the batch, where one process of the
    same share of threads was timed at its share of the batch. Launches of the same number are compared: those of a
    sweep take turns."""
    at = {race.case.batch: race for race in races}
    found = []
    for batch, race in sorted(at.items()):
        for name in race.contenders:
            world, one = Contender.parse(name).world, one_process(race, name)
            alone = at.get(batch // world) if batch % world == 0 else None
            if one is None or alone is None or any(failure_of(of, each) or no_certificate(of, each)
                                                   for of, each in ((race, name), (alone, one))):
                continue
            own, other = by_launch(log_steps(race)[name]), by_launch(log_steps(alone)[one])
            logs = np.array([other[launch] - own[launch] for launch in sorted(own.keys() & other.keys())])
            if len(logs):
                efficiency = interval(logs)
                found.append(Scaling(name, one, world, batch, batch // world, len(logs), _scaled(efficiency, world),
                                     efficiency))
    return tuple(found)


def one_process(race: Race, name: str) -> str | None:
    """The contender of the race that does alone what each process of that one does; None where there is none, or it is
    one process itself."""
    of = Contender.parse(name)
    wanted = _alone(of, race.case.threads)
    return None if not of.strategy else next(
        (other for other in race.contenders if _alone(Contender.parse(other), race.case.threads) == wanted
         and not Contender.parse(other).strategy), None)


def to_race_beside(race: Race, name: str) -> str:
    """How that one process is spelled."""
    return _alone(Contender.parse(name), race.case.threads).name


def _alone(of: Contender, usual: int) -> Contender:
    """One of its processes as a contender of its own."""
    given = dict(of.options)
    threads = int(given.get("threads", usual)) // of.world
    options = {**{key: value for key, value in given.items() if key not in RANKS}, "threads": str(threads)}
    return replace(of, options=tuple(sorted(options.items())), copy=1, strategy="", world=1)


def _scaled(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor, estimate.level)
