"""Simulated races for the tests of `photofinish.stats`: known ratios, with noise of launches, rounds and
steps, drift and interference."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase

import numpy as np
from scipy.stats import binom

from photofinish.values import Block, Case, Certificate, Launch, Race

CASE = Case("net", "digest", "train", 8, (3, 8, 8))
NAMES = tuple(ascii_lowercase)


@dataclass(frozen=True)
class World:
    """Noise as standard deviations of log time: of a launch (each contender its own), of a round (each its
    own), of a step, and a drift shared by all, per round."""

    launch: float = 0.01
    round: float = 0.02
    step: float = 0.02
    drift: float = 0.0
    rounds: int = 5
    steps: int = 2

    def blocks(self, noise: np.random.Generator, seconds: Sequence[float], launches: Iterable[int]) -> list[Block]:
        numbers = list(launches)
        shape = (len(numbers), self.rounds, len(seconds), self.steps)
        logs = np.log(np.asarray(seconds))[:, None] + noise.normal(0, self.step, shape)
        logs += noise.normal(0, self.launch, (shape[0], 1, shape[2], 1)) + noise.normal(0, self.round, (*shape[:3], 1))
        logs += self.drift * np.arange(shape[0] * shape[1]).reshape(shape[0], shape[1], 1, 1)
        times = np.exp(logs).tolist()
        return [Block(number, turn, place, NAMES[place], "train", tuple(times[i][turn][place]), 0.1, 0, 0.0, 0.01)
                for i, number in enumerate(numbers) for turn in range(self.rounds) for place in range(len(seconds))]

    def grouped(self, noise: np.random.Generator, seconds: Sequence[float], groups: Sequence[Sequence[Sequence[int]]],
                shift: float = 0.0) -> Race:
        """A race whose launch i ran in `groups[i]`, each of places in `seconds`; whoever is in several has a process in
        each. Every group but the first is `shift` slower (log time)."""
        blocks = []
        for number, launch in enumerate(groups, 1):
            for group, places in enumerate(launch):
                level = [seconds[place] * math.exp(shift if group else 0.0) for place in places]
                blocks += [replace(block, contender=NAMES[places[block.position]], group=group)
                           for block in self.blocks(noise, level, [number])]
        return replace(self.race(noise, seconds, 0), blocks=tuple(blocks), launches=tuple(
            Launch(number, 0, (), (), 10.0, tuple(tuple(NAMES[place] for place in places) for places in launch))
            for number, launch in enumerate(groups, 1)))

    def race(self, noise: np.random.Generator, seconds: Sequence[float], launches: int, margin: float = 0.02) -> Race:
        """A race of as many contenders as there are `seconds`, certified, of `launches` launches."""
        names = NAMES[:len(seconds)]
        race = Race("race", CASE, names, margin,
                    certificates=tuple(Certificate(name, "digest", True, (), "numpy", 8) for name in names))
        return self.more(race, noise, seconds, launches)

    def more(self, race: Race, noise: np.random.Generator, seconds: Sequence[float], launches: int) -> Race:
        """The race with `launches` more launches of 10 seconds."""
        done = len(race.launches)
        numbers = range(done + 1, done + 1 + launches)
        return replace(race, blocks=race.blocks + tuple(self.blocks(noise, seconds, numbers)),
                       launches=race.launches + tuple(Launch(number, 0, (), (), 10.0) for number in numbers))


def log_normal(noise: np.random.Generator, level: float, spread: float, count: int) -> np.ndarray:
    return level * np.exp(noise.normal(0, spread, count))


def most_by_chance(trials: int, rate: float) -> int:
    """More than this many events in `trials` would show a rate above `rate` (error 0.1 %)."""
    return int(binom.ppf(0.999, trials, rate))


def least_by_chance(trials: int, rate: float) -> int:
    """Fewer than this would show a rate below `rate` (error 0.1 %)."""
    return int(binom.ppf(0.001, trials, rate))


def ratio(percent: float) -> float:
    return math.exp(math.log1p(percent / 100))
