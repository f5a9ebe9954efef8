"""How much of the speed of N processes is left: where they share the batch of one (strong scaling), and where each has
as much as one alone (weak scaling).

What more processes would come to is said by Amdahl's law (AFIPS 1967): of one process' time a part is divided by their
number, and the rest, the serial share (as Karp and Flatt, CACM 33:5, 1990, take it from a speed-up), is not. What each
sends where gradients go round in a ring, 2 (N - 1)/N of them, is linear in 1/N like the law itself, so the share holds
that, too; it does not hold what grows with every process: how long a message takes whatever its length, and stragglers.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from photofinish import environments
from photofinish.stats.paired import by_launch, interval, launch_differences, log_steps
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.stats.verdict import ALPHA, left, share
from photofinish.values import Contender, Estimate, Race, Scaling

# Options that say how several processes run, not what each computes, beside those of their strategy.
RANKS = ("threads", "rank")
TALK = ("GLOO_", "HOROVOD_", "NCCL_")  # how the variables begin of what processes are in touch by
MORE = (2, 4, 8)  # times as many processes as were raced: what is predicted


@dataclass(frozen=True)
class Forecast:
    """What so many `processes` would come to; `measured` is what they did, where a contender that differs in nothing
    else was raced."""

    processes: int
    speedup: Estimate
    measured: Estimate | None


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
            world, speedup = Contender.parse(name).world, interval(logs, 1 - ALPHA * share(race))
            batch = race.case.batch
            found.append(Scaling(name, one, world, batch, batch, len(logs), speedup, speedup.scaled(1 / world)))
    return tuple(found)


def serial_share(speedup: Estimate, processes: int) -> Estimate:
    """The part of one process' time that so many do not divide: none where they are more than so many times as fast,
    more than all of it where they are slower than one. The interval is that of the speed-up, which it falls with."""
    at, high, low = (max(0.0, (processes / each - 1) / (processes - 1))
                     for each in (speedup.value, speedup.low, speedup.high))
    return Estimate(at, low, high, speedup.level)


def forecasts(scaling: Scaling, others: Iterable[Scaling] = ()) -> list[Forecast]:
    """More processes at the same batch, those of `others` included that differ in nothing but their number."""
    same = {each.processes: each.speedup for each in others if each.processes > scaling.processes
            and replace(Contender.parse(each.contender), world=scaling.processes).name == scaling.contender}
    share = serial_share(scaling.speedup, scaling.processes)
    found = []
    for many in sorted({*same, *(times * scaling.processes for times in MORE)}):
        at, low, high = (1 / (part + (1 - part) / many) for part in (share.value, share.high, share.low))
        found.append(Forecast(many, Estimate(at, low, high, share.level), same.get(many)))
    return found


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
                efficiency = interval(logs, 1 - left((race, alone)))
                found.append(Scaling(name, one, world, batch, batch // world, len(logs), efficiency.scaled(world),
                                     efficiency))
    return tuple(found)


def process_peaks(race: Race) -> dict[str, int]:
    """Contender -> the most bytes that one process of it held in the rehearsal, whichever held most."""
    peaks: dict[str, int] = {}
    for each in race.memory:
        peaks[each.contender] = max(peaks.get(each.contender, 0), *(each.each or (each.peak,)))
    return peaks


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
    framework = environments.frameworks().get(of.framework)
    strategy = framework.strategies.get(of.strategy) if framework else None
    among = {*RANKS, *(strategy.options if strategy else ())}
    options = {**{key: value for key, value in given.items() if key not in among and not key.startswith(TALK)},
               "threads": str(threads)}
    return replace(of, options=tuple(sorted(options.items())), copy=1, strategy="", world=1)
