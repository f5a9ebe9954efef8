"""Where each contender's step goes, as its framework's own profiler tells it, and what the operating system counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from photofinish.stats.paired import mean_interval
from photofinish.values import Estimate, Profile, Race
from photofinish.values.profile import PLACES, UNPLACED

NAMES = 3  # of what could not be placed


@dataclass(frozen=True)
class Whereabouts:
    """Of one contender, over `launches`: seconds of a `plain` step, and per step the `kernels` run, page `faults`, how
    often a thread gave its core up (`waits`) or lost it (`preempted`); `busy` cores, `system` of them in the kernel.

    With a profiler, seconds of a `profiled` step and the `shares` of it at each of PLACES (None: it cannot see that),
    which sum to one; of its kernels so many are `fused` (None: it cannot tell); `unplaced` are the longest names that
    it has no place for. Without one: None, {} and ().
    """

    contender: str
    launches: int
    plain: Estimate
    busy: float
    system: float
    faults: float
    waits: float
    preempted: float
    profiler: str
    profiled: Estimate | None
    shares: Mapping[str, Estimate | None]
    kernels: float | None
    fused: float | None
    unplaced: tuple[str, ...]

    @property
    def placed(self) -> float | None:
        """The share of a step that has a place."""
        unplaced = self.shares.get(UNPLACED)
        return None if unplaced is None else 1 - unplaced.value


def whereabouts(race: Race, names: Sequence[str]) -> tuple[Whereabouts, ...]:
    """In the order of `names`, but for those that nobody looked into."""
    ordered = sorted((each for each in race.profiles if each.contender in names),
                     key=lambda each: (names.index(each.contender), each.launch))
    return tuple(_whereabouts(list(own)) for _, own in groupby(ordered, key=lambda each: each.contender))


def _whereabouts(own: Sequence[Profile]) -> Whereabouts:
    steps, wall = sum(len(each.seconds) for each in own), sum(sum(each.seconds) for each in own)
    seen = [each for each in own if each.profiled]
    profiled = [step for each in seen for step in each.profiled]
    names = sum((Counter(step.unplaced) for step in profiled), Counter[str]())
    return Whereabouts(
        own[0].contender, len(own), mean_interval(np.array([np.mean(each.seconds) for each in own])),
        sum(each.cpu for each in own) / wall, sum(each.system for each in own) / wall,
        sum(each.faults for each in own) / steps, sum(each.waits for each in own) / steps,
        sum(each.preempted for each in own) / steps,
        seen[0].profiler if seen else "",
        mean_interval(np.array([np.mean([step.seconds for step in each.profiled]) for each in seen])) if seen else None,
        {place: _share(seen, place) for place in PLACES} if seen else {},
        float(np.mean([step.kernels for step in profiled])) if seen else None,
        _mean([step.fused for step in profiled]),
        tuple(name for name, _ in names.most_common(NAMES)))


def _mean(counts: Sequence[int | None]) -> float | None:
    known = [each for each in counts if each is not None]
    return float(np.mean(known)) if known else None


def _share(seen: Sequence[Profile], place: str) -> Estimate | None:
    """Its interval ends where shares do."""
    if any(place in each.hidden for each in seen):
        return None
    found = mean_interval(np.array([sum(step.where[place] for step in each.profiled)
                                    / sum(step.seconds for step in each.profiled) for each in seen]))
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))
