"""Latency under a load: its quantiles, what may be claimed of its tail, and whether waiting is as queueing theory has
it."""

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from photofinish.stats import paired, queue, standings, tails
from photofinish.values import Estimate, Load, Race

SHARES = (0.5, 0.9, 0.99, 0.999)  # of queries, whose latency is told


@dataclass(frozen=True)
class Served:
    """How one contender answered, in seconds. `busy` is the share of the time in which it worked, `offered` the work
    that comes in a second: at 1 and above it falls ever further `behind`, which is whether launches show it. `waiting`
    is the mean of what queries waited before they were taken up, `expected` what it should be where arrivals are random
    (None elsewhere, or where it falls behind). `lasting` is the share of queries that would come later than the bound
    were a load of random arrivals to last (None without either). There is no `claim` without a bound, nor for
    who failed and left queries unanswered."""

    contender: str
    queries: int
    answered: float  # a second
    busy: float
    service: float
    offered: float | None
    behind: bool
    waiting: float
    expected: float | None
    latencies: dict[float, Estimate]
    claim: tails.Claim | None
    launches: int
    lasting: float | None


def served(race: Race) -> tuple[Served, ...]:
    """One for each contender that answered any query, in the race's order."""
    return tuple(_served(race, name) for name in race.contenders if paired.timed_blocks(race, name))


def _served(race: Race, name: str) -> Served:
    load, blocks = _load(race), paired.timed_blocks(race, name)
    launches = list(paired.timed_launches(race, name).values())
    latencies = [each for launch in launches for each in launch]
    services: dict[int, list[float]] = defaultdict(list)
    for block in blocks:
        services[block.launch] += block.service
    service = np.concatenate(list(services.values()))
    works, lasting, late = [], [], None
    if load.rate:
        works = [load.rate * float(np.mean(each)) for each in services.values()]
        lasting = [queue.lasting(each, load.rate, launch).tolist() for launch, each in services.items()]
        late = float(np.mean(np.concatenate(lasting) > load.latency)) if load.latency else None
    wall = sum(block.wall or 0.0 for block in blocks)
    mean = float(np.mean(service))
    offered = load.rate * mean if load.rate else None
    return Served(name, len(latencies), len(latencies) / wall, float(np.sum(service)) / wall, mean, offered,
                  falls_behind(works, _of_a_look(load)), float(np.mean(latencies)) - mean,
                  _expected_wait(load.rate, service) if load.rate else None,
                  {share: tails.quantile(launches, share) for share in SHARES},
                  None if standings.failure_of(race, name) else _claim(launches, works, lasting, load),
                  len(launches), late)


def _expected_wait(rate: float, service: np.ndarray) -> float | None:
    """The mean wait for one server with Poisson arrivals: λ E[S²] / (2 (1 - λ E[S])), Pollaczek and Khinchine."""
    room = 1 - rate * float(np.mean(service))
    return rate * float(np.mean(service**2)) / (2 * room) if room > 0 else None


def _claim(launches: tails.Launches, offered: list[float], lasting: tails.Launches, load: Load) -> tails.Claim | None:
    """At the confidence that each look may use: all of them together err as seldom as one (Bonferroni).

    Under random queries it speaks of a load that lasts, and a block begins with an empty queue. So nobody meets a bound
    whose queue, at its full length by the service times seen, would not; and who is shown not to keep up misses any.
    """
    if load.latency is None:
        return None
    confidence = _of_a_look(load)
    claim = tails.claim(launches, load.latency, load.share, confidence)
    if offered and falls_behind(offered, confidence):
        return replace(claim, word="MISSED")
    if lasting and claim.word == "MET" and not tails.borne_out("MET", lasting, load.latency, load.share, confidence):
        return replace(claim, word="UNDECIDED")
    return claim


def _of_a_look(load: Load) -> float:
    return 1 - (1 - load.confidence) / load.looks


def falls_behind(offered: list[float], confidence: float) -> bool:
    """Whether launches show that more work comes in than can be done: seconds of it a second, of each launch."""
    return len(offered) > 1 and float(np.mean(offered)) - tails.reach_of(offered, confidence) > 1


def decided(race: Race) -> bool:
    """Whether there is a claim, and it is decided for every contender that has answered and not failed."""
    words = [each.claim.word for each in served(race) if each.claim]
    return bool(words) and "UNDECIDED" not in words


def _load(race: Race) -> Load:
    assert race.case.load is not None
    return race.case.load
