"""A race, judged: who may be compared, the verdicts, the order of finish, and advice on the figures."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from photofinish.stats import curves
from photofinish.stats.advice import advice
from photofinish.stats.paired import Rounds, interval, launch_differences, launch_steps, log_steps, timed_blocks
from photofinish.stats.verdict import verdicts
from photofinish.values import Certificate, Estimate, Failure, Phase, Race, Result, Standing, Verdict

WRONG = "wrong answer"
REHEARSAL = 0  # the launch before the race: cold caches, default allocator, one contender at a time


def judge(race: Race) -> Result:
    """The result of whatever was recorded so far.

    A contender that failed, or that has no passed certificate of this graph, is compared with nobody; if
    one without a certificate was timed, the race is not comparable and has no winner.
    """
    failures = {name: failure for name in race.contenders if (failure := failure_of(race, name))}
    uncertified = {name: reason for name in race.contenders if (reason := no_certificate(race, name))}
    failed = {name: f"{name} failed: {each.kind}" for name, each in failures.items()}
    barred = {**curves.missed(race), **uncertified, **failed}
    steps = log_steps(race)
    timed = [name for name in race.contenders if steps[name]]
    sound = [name for name in timed if name not in barred]
    wrong = any(failure.kind == WRONG for failure in failures.values())
    comparable = bool(sound) and not set(timed) & set(uncertified) and not (wrong and len(sound) < 2)
    found = verdicts(race, barred)
    order = _order(steps, sound)
    places = _places(order, found) if comparable else {}
    order = [*(places or order), *(name for name in race.contenders if name not in sound)]
    standings = tuple(_standing(race, name, steps[name], places.get(name), failures.get(name)) for name in order)
    return Result(race, comparable, standings, found, advice(race, standings))


def failure_of(race: Race, contender: str) -> Failure | None:
    """What stopped a contender in this race's task; None if nothing did."""
    for failure in race.failures:
        _, _, task = failure.phase.partition(":")
        if failure.contender == contender and task in ("", race.case.task):
            return failure
    return None


def no_certificate(race: Race, contender: str) -> str:
    """Why the contender may not be compared, or "". A copy (torch:eager#2) is covered by its original."""
    original = contender.partition("#")[0]
    mine = [each for each in race.certificates if each.contender in (contender, original)]
    if not mine:
        return f"no certificate for {contender}"
    return next((reason for each in mine if (reason := _flaw(each, race.case.digest))), "")


def _flaw(certificate: Certificate, digest: str) -> str:
    if certificate.digest != digest:
        return f"the certificate of {certificate.contender} is of another graph"
    if certificate.unknown:
        return (f"whether {certificate.contender} computes the same is not proven: no map of names says which of its "
                "arrays are the graph's")
    if certificate.differences:
        return f"{certificate.contender} computes something else than the graph: the certificate says how it differs"
    if not certificate.passed:
        failed = [check.group for check in certificate.checks if not check.passed]
        return f"{certificate.contender} failed its certificate" + (f" ({', '.join(failed)})" if failed else "")
    return ""


def _order(steps: dict[str, Rounds], names: list[str]) -> list[str]:
    """Fastest first, by the mean of each contender's paired log ratios to the others."""
    def lead(name: str) -> float:
        ratios = [float(np.mean(logs)) for other in names if other != name
                  and len(logs := launch_differences(steps, name, other))]
        return float(np.mean(ratios)) if ratios else 0.0

    return sorted(names, key=lead, reverse=True)


def _places(order: list[str], found: tuple[Verdict, ...]) -> dict[str, tuple[int, int]]:
    """{contender: (place, tie group)}, the first place first. The place is 1 more than the number of contenders shown
    to be faster. The first contender of a group leads it; whoever is not shown to be slower than it belongs to it."""
    faster = _shown_faster(order, found)
    place = {name: 1 + sum((other, name) in faster for other in order) for name in order}
    order = sorted(order, key=place.__getitem__)
    groups: dict[str, int] = {}
    for leader in order:
        if leader not in groups:
            group = len(set(groups.values()))
            groups.update({name: group for name in order if name not in groups and (leader, name) not in faster})
    return {name: (place[name], groups[name]) for name in order}


def _shown_faster(order: list[str], found: tuple[Verdict, ...]) -> set[tuple[str, str]]:
    """The pairs whose first is shown to be faster, by a verdict or by a chain of them: a noisy pair may be undecided
    while a third, between the two, tells them apart. So no two that share a place are shown to differ."""
    faster = {(each.a, each.b) for each in found if each.verdict == "FASTER"}
    faster |= {(each.b, each.a) for each in found if each.verdict == "SLOWER"}
    for middle in order:
        ahead = [name for name in order if (name, middle) in faster]
        behind = [name for name in order if (middle, name) in faster]
        faster |= {(a, b) for a in ahead for b in behind if a != b}
    return faster


def _standing(race: Race, name: str, steps: Rounds, placed: tuple[int, int] | None,
              failure: Failure | None) -> Standing:
    place, group = placed or (None, None)
    logs = launch_steps(steps)
    time, units = interval(logs) if len(logs) else None, _units(race)
    standing = Standing(
        name, place, group, time, _throughput(time, units) if time and units else None,
        memory=_memory(race, name), spread=float(np.std(logs, ddof=1)) if len(logs) > 1 else None,
        phases=_phases(race, name), failure=failure,
        device_memory=_memory(race, name, device=True))
    work = [(block.cpu, block.wall or sum(block.seconds), block.faults, len(block.seconds))
            for block in timed_blocks(race, name)]
    work += [(epoch.cpu, epoch.seconds, epoch.faults, epoch.steps) for epoch in race.epochs if epoch.contender == name]
    if not work:
        return standing
    cpu, wall, faults, count = map(sum, zip(*work))
    return replace(standing, cpu_per_wall=cpu / wall, faults_per_step=faults / count)


def _units(race: Race) -> float:
    """How many units what is timed works on; 0 for a whole training, whose length differs from launch to launch, and
    under a load, which says itself how much there is."""
    if race.case.task == "fit" or race.case.load is not None:
        return 0.0
    training = race.case.training
    return race.case.units * (race.case.batch if training is None else training.samples)


def _throughput(time: Estimate, units: float) -> Estimate:
    return Estimate(units / time.value, units / time.high, units / time.low, time.level)


def _memory(race: Race, name: str, device: bool = False) -> int | None:
    """The peak in the rehearsal, where the allocator is as users have it; else, and where a data set is passed over,
    which no rehearsal loads, the most over launches."""
    peaks: dict[int, int] = defaultdict(int)
    for phase in race.phases:
        if phase.contender == name:
            peaks[phase.launch] = max(peaks[phase.launch], (phase.device_memory or 0) if device else phase.memory)
    rehearsed = peaks.pop(REHEARSAL, 0)
    if peaks and (race.case.training is not None or not rehearsed):
        return max(peaks.values()) or None
    return rehearsed or None


def _phases(race: Race, name: str) -> dict[str, float]:
    """Medians over launches. Where the rehearsal or a cold cache gave a second figure for compiling and
    for the first step, it is listed apart as "<phase> (cold)"."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for phase in race.phases:
        if phase.contender == name and (label := _label(phase)):
            seconds[label].append(phase.seconds)
    return {label: float(np.median(values)) for label, values in seconds.items()}


def _label(phase: Phase) -> str:
    if phase.cache != "cold" and phase.launch != REHEARSAL:
        return phase.name
    return f"{phase.name} (cold)" if phase.name.startswith(("compile", "first_step")) else ""
