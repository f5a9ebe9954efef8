"""Latency under a load: its quantiles, what may be claimed of its tail, and whether waiting is as queueing theory has
it."""

from dataclasses import dataclass

import numpy as np

from photofinish.stats import paired, tails
from photofinish.values import Estimate, Load, Race

SHARES = (0.5, 0.9, 0.99, 0.999)  # of queries, whose latency is told


@dataclass(frozen=True)
class Served:
    """How one contender answered, in seconds. `busy` is the share of the time in which it worked, `offered` the work
    that comes in a second: at 1 and above it falls ever further behind. `waiting` is the mean of what queries waited
    before they were taken up, `expected` what it should be where arrivals are random (None elsewhere, or where it falls
    behind)."""

    contender: str
    queries: int
    answered: float  # a second
    busy: float
    service: float
    offered: float | None
    waiting: float
    expected: float | None
    latencies: dict[float, Estimate]
    claim: tails.Claim | None


def served(race: Race) -> tuple[Served, ...]:
    """One for each contender that answered any query, in the race's order."""
    return tuple(_served(race, name) for name in race.contenders if paired.timed_blocks(race, name))


def _served(race: Race, name: str) -> Served:
    load, blocks = _load(race), paired.timed_blocks(race, name)
    launches = list(paired.timed_launches(race, name).values())
    latencies = [each for launch in launches for each in launch]
    service = np.array([each for block in blocks for each in block.service])
    wall = sum(block.wall or 0.0 for block in blocks)
    mean = float(np.mean(service))
    offered = load.rate * mean if load.rate else None
    return Served(name, len(latencies), len(latencies) / wall, float(np.sum(service)) / wall, mean, offered,
                  float(np.mean(latencies)) - mean, _expected_wait(load.rate, service) if load.rate else None,
                  {share: tails.quantile(launches, share) for share in SHARES}, _claim(launches, load))


def _expected_wait(rate: float, service: np.ndarray) -> float | None:
    """The mean wait for one server with Poisson arrivals: λ E[S²] / (2 (1 - λ E[S])), Pollaczek and Khinchine."""
    room = 1 - rate * float(np.mean(service))
    return rate * float(np.mean(service**2)) / (2 * room) if room > 0 else None


def _claim(launches: tails.Launches, load: Load) -> tails.Claim | None:
    """At the confidence that each look may use: all of them together err as seldom as one (Bonferroni)."""
    if load.latency is None:
        return None
    return tails.claim(launches, load.latency, load.share, 1 - (1 - load.confidence) / load.looks)


def decided(race: Race) -> bool:
    """Whether there is a claim, and it is decided for every contender that has answered and not failed."""
    out = {failure.contender for failure in race.failures}
    words = [each.claim.word for each in served(race) if each.claim and each.contender not in out]
    return bool(words) and "UNDECIDED" not in words


def _load(race: Race) -> Load:
    assert race.case.load is not None
    return race.case.load
