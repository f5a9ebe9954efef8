"""Warnings on the figures of a race, phrased as advice: what was seen, what it may mean, what to try."""

from collections.abc import Iterator, Mapping
from statistics import fmean, median

import numpy as np

from photofinish.stats.curves import missed
from photofinish.stats.jobs import mean_steps
from photofinish.stats.paired import Rounds, log_steps, mean_interval, round_differences, timed_blocks
from photofinish.stats.steady import LEAST
from photofinish.stats.verdict import ALPHA
from photofinish.values import SERVE, Contender, Race, Standing

SPREAD = 0.03  # s.d. between launches; with equal allocators 1 % is usual and 10 % without
FOREIGN = 0.05  # of the machine, used by others during a block
FAULT = 1.5e-6  # seconds of a minor page fault: 1.4 in PyTorch and 1.8 in JAX, by doing away with them
DEAR = 0.01  # of a contender's time
TAIL = 0.10  # by which a contender's mean step may exceed its median
FALL = 0.02  # by which a contender may be faster at the end of a launch's rounds than at their beginning
SPARE_CORES = 0.2
NAMED = 4  # contenders that a warning names one by one


def advice(race: Race, standings: tuple[Standing, ...]) -> tuple[str, ...]:
    """Every warning, the audit's first."""
    audit = [finding.warning for finding in race.audit if finding.warning]
    figures = [text for rule in RULES for text in rule(race, standings)]
    return tuple(dict.fromkeys(audit + figures))


def spread(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    if race.case.task in ("fit", SERVE):  # whose seeds differ from launch to launch
        return
    wide = {each.contender: each.spread for each in standings if each.spread is not None and each.spread > SPREAD}
    if wide:
        often = "by memory placement" if race.case.device == "cpu" else "as the device's clocks do, by its temperature"
        yield (f"Steps differ from launch to launch (s.d.: {_each(wide)}): processes keep different speeds, often "
               f"{often}; only more launches narrow the interval.")


def foreign_load(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    shares = [block.foreign for block in timed_blocks(race)] + [epoch.foreign for epoch in race.epochs]
    known = [share for share in shares if share is not None]
    busy, what = sum(share > FOREIGN for share in known), "epochs" if race.epochs else "blocks"
    if known and busy > 0.1 * len(known):
        yield (f"Other programs used more than {FOREIGN:.0%} of the machine during {busy} of {len(known)} {what}: "
               "intervals are wider than they need be; close them, or race again when the machine is quiet.")


def page_faults(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    if race.case.regime != "matched" or race.case.device != "cpu":
        return
    dear = {name: share for name, share in _fault_shares(race).items() if share > DEAR}
    if dear:
        yield (f"Page faults take some of the time, about {_each(dear)}: memory is handed back and faulted in again at "
               "each step, not alike for all; preload jemalloc for all and race again.")


def steady_state(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    for name in race.contenders:
        kinds = [each.kind for each in race.warm_ups  # of so few steps none is known
                 if each.contender == name and each.task == race.case.task and len(each.seconds) >= LEAST]
        for kind, meaning in (("no steady state", "had not settled when its warm-up ended"),
                              ("slowdown", "became slower during its warm-up")):
            if kinds.count(kind) > len(kinds) / 2:
                yield (f"{name} {meaning} in {kinds.count(kind)} of {len(kinds)} launches: its step time may still "
                       "move; look at its warm-up curve.")


def settling(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    """Who became faster while it was timed: a warm-up may end where noise hides what is left to fall."""
    if race.case.training is not None or race.case.task == SERVE:  # whose rounds are not steps of one process in a row
        return
    steps = log_steps(race)
    falls = {name: found for name in race.contenders if len(found := _falls(steps, name)) > 1}
    for name, found in falls.items():
        fall = mean_interval(np.array(found), 1 - ALPHA / len(falls))
        if fall.low > 0 and fall.value > FALL:
            yield (f"{name} became {np.expm1(fall.value):.1%} faster beside the others while it was timed (from the "
                   f"first to the last third of the rounds of {len(found)} launches): it had not settled, or they "
                   "slowed down; a long job may see another ratio than the verdict's; look at its warm-up curve.")


def slow_steps(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    for name in race.contenders if race.case.task != SERVE else ():  # where queries wait for others
        blocks = [block.seconds for block in timed_blocks(race, name)]
        excess = median(fmean(steps) / median(steps) for steps in blocks) - 1 if blocks else 0.0
        if excess > TAIL:
            yield (f"{name} has slow steps that recur in most blocks: its mean step is {excess:.0%} above the median, "
                   "and the verdict compares medians; look at the raw distribution.")


def means_against_medians(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    """Where the winner would be another one by mean steps."""
    if race.case.task in ("fit", SERVE):  # which have no step of which a job takes more
        return
    means = {name: fmean(launches.values()) for name, launches in mean_steps(race).items() if launches}
    placed = [each for each in standings if each.place is not None and each.contender in means]
    if not placed:
        return
    first, least = placed[0], min(placed, key=lambda each: means[each.contender])
    if least.tie_group != first.tie_group:  # who is in its group is not shown to be slower
        longer, what = means[first.contender] / means[least.contender] - 1, "epoch" if race.epochs else "step"
        yield (f"{first.contender} is faster than {least.contender} by the verdict, which passes over slow {what}s, "
               f"but its mean {what} is {longer:.1%} longer: a long job takes the slow ones, too; look at the raw "
               "distribution and the total time.")


def threads(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    for each in standings:
        allowed = Contender.parse(each.contender).threads(race.case.threads)
        if race.case.regime == "matched" and each.cpu_per_wall is not None \
                and each.cpu_per_wall > allowed + SPARE_CORES:
            yield (f"{each.contender} kept {each.cpu_per_wall:.2f} cores busy where {allowed} were allowed: "
                   "its threads are not held by the setting; pin it by CPU affinity.")


def targets(race: Race, standings: tuple[Standing, ...]) -> Iterator[str]:
    for reason in missed(race).values():
        yield f"{reason}: it is given no time, since that of the others would be a choice of its best."


def _falls(steps: Mapping[str, Rounds], name: str) -> list[float]:
    """By how much log steps fell from the first to the last third of a launch's rounds, beside those of the others: one
    figure for each launch that has as many rounds."""
    found: dict[int, list[float]] = {}
    for other in steps.keys() - {name}:
        for launch, ahead in round_differences(steps, name, other).items():
            third = len(ahead) // 3
            if third:
                found.setdefault(launch, []).append(float(np.mean(ahead[-third:]) - np.mean(ahead[:third])))
    return [fmean(each) for each in found.values()]


def _fault_shares(race: Race) -> dict[str, float]:
    """About how much of each contender's timed work went into page faults."""
    work = [(each.contender, each.faults, each.wall or sum(each.seconds)) for each in timed_blocks(race)]
    work += [(each.contender, each.faults, each.seconds) for each in race.epochs]
    return {name: FAULT * sum(faults for who, faults, _ in work if who == name)
            / sum(wall for who, _, wall in work if who == name) for name in dict.fromkeys(who for who, _, _ in work)}


def _each(shares: Mapping[str, float]) -> str:
    if len(shares) > NAMED:
        return f"{min(shares.values()):.1%} to {max(shares.values()):.1%}, of {len(shares)} contenders"
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


RULES = (targets, spread, foreign_load, page_faults, steady_state, settling, slow_steps, means_against_medians, threads)
