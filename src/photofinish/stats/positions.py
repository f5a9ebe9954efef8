"""Position effects: does a contender that starts second, or comes second in a round, look slower? Does it matter who is
named first?

The first two are measured on placebo races (the same contender twice): what is found there is the machine's.
"""

import math
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np

from photofinish.stats import curves, paired
from photofinish.stats.verdict import decide
from photofinish.values import Estimate, Race

DEPENDS = {"FASTER": "DEPENDS", "SLOWER": "DEPENDS"}


def of_start(races: Iterable[Race]) -> Estimate | None:
    """Seconds per step of the contender started second over the first; None with fewer than two launches."""
    logs = []
    for race in races:
        started = {launch.number: launch.started for launch in race.launches}
        steps = paired.log_steps(race)
        for number, order in started.items():
            if len(order) == 2 and all(number in steps[name] for name in order):
                logs.append(paired.location(paired.round_differences(steps, *order)[number]))
    return paired.interval(np.array(logs)) if len(logs) > 1 else None


def in_round(races: Iterable[Race]) -> Estimate | None:
    """Seconds per step of the second in a round over the first of the same round."""
    logs = []
    for race in races:
        at: dict[tuple[int, int], dict[int, float]] = {}
        for block in paired.timed_blocks(race):
            at.setdefault((block.launch, block.round), {})[block.position] = float(np.log(np.median(block.seconds)))
        by_launch: dict[int, list[float]] = {}
        for (launch, _), found in at.items():
            if {0, 1} <= found.keys():
                by_launch.setdefault(launch, []).append(found[1] - found[0])
        logs += [float(np.mean(values)) for values in by_launch.values()]
    return paired.interval(np.array(logs)) if len(logs) > 1 else None


class Turned(NamedTuple):
    """A pair in two races of task epoch whose lists name contenders in opposite orders: seconds(b) / seconds(a) of the
    first or of later epochs in `named` and in `turned`, and `effect`, the first over the second. `word` is DEPENDS on
    the list, EQUIVALENT within the races' margin, or UNDECIDED."""

    a: str
    b: str
    figure: str
    named: Estimate
    turned: Estimate
    effect: Estimate
    word: str


def of_list(named: Race, turned: Race) -> tuple[Turned, ...]:
    """Every pair of the two races, both figures; Holm's procedure over all of them. The launches of the two races are
    independent: that they are paired by number costs degrees of freedom and no more."""
    pairs, logs = [], []
    for figure, rounds in {"first epoch": _first, "later epochs": paired.log_steps}.items():
        here, there = rounds(named), rounds(turned)
        for a, b in combinations(named.contenders, 2):
            both = [paired.launch_differences(steps, a, b) for steps in (here, there)]
            length = min(map(len, both))
            if length > 1:
                pairs.append((a, b, figure))
                logs.append([each[:length] for each in both])
    effects = [first - second for first, second in logs]
    return tuple(Turned(*pair, paired.interval(first), paired.interval(second), paired.interval(effect, 1 - each.level),
                        DEPENDS.get(each.word, each.word))
                 for pair, (first, second), effect, each in zip(pairs, logs, effects, decide(effects, named.margin)))


def _first(race: Race) -> dict[str, paired.Rounds]:
    """The first epoch of each training, as `paired.log_steps` gives the later ones."""
    found: dict[str, paired.Rounds] = {name: {} for name in race.contenders}
    for name, places in curves.trainings(race).items():
        for (launch, group), epochs in places.items():
            found[name].setdefault(launch, {})[group, 1] = math.log(epochs[0].seconds)
    return found
