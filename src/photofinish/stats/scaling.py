"""Strong scaling: how much of the speed of N processes is left where they share one batch."""

from dataclasses import replace

from photofinish.stats.paired import interval, launch_differences, log_steps
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.values import Contender, Estimate, Race, Scaling

RANKS = ("threads", "rank")  # options that say how several processes run, not what each computes


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
            found.append(Scaling(name, one, world, len(logs), speedup, _scaled(speedup, 1 / world)))
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
