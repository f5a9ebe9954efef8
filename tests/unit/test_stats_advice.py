"""Warnings beside the verdict."""

import math
from dataclasses import replace

import numpy as np

from photofinish.stats import judge
from photofinish.values import Race
from stats_races import World, most_by_chance

WORLD = World(launch=0.01, round=0.01, step=0.01, rounds=9)


def falling(race: Race, name: str, start: float, decay: float) -> Race:
    """That contender's steps begin slower by `start` (log time) in each launch, and fall by a factor e in `decay`
    rounds."""
    return replace(race, blocks=tuple(
        replace(each, seconds=tuple(step * math.exp(start * math.exp(-each.round / decay)) for step in each.seconds))
        if each.contender == name else each for each in race.blocks))


def told(race: Race) -> list[str]:
    return [each for each in judge(race).warnings if "faster beside the others while it was timed" in each]


def test_who_was_timed_before_it_had_settled_is_named() -> None:
    for seed in range(20):
        race = WORLD.race(np.random.default_rng(seed), (1.0, 1.0, 1.0), 4)
        (warning,) = told(falling(race, "b", 0.3, 3.0))
        assert warning.startswith("b became 2")  # of 30 % about four fifths fall meanwhile


def test_what_falls_for_all_alike_is_drift_and_no_warning() -> None:
    race = WORLD.race(np.random.default_rng(0), (1.0, 1.0), 4)
    for name in "ab":
        race = falling(race, name, 0.3, 3.0)
    assert told(race) == [] and told(WORLD.race(np.random.default_rng(0), (1.0, 1.0), 1)) == []


def test_who_has_settled_is_seldom_warned_of() -> None:
    wild = replace(WORLD, round=0.1)  # so that a chance fall is large enough to be told
    wrong = sum(bool(told(wild.race(np.random.default_rng(seed), (1.0, 1.0, 1.0), 4))) for seed in range(200))
    assert wrong <= most_by_chance(200, 0.05)
