"""What may make a gap besides single layers, as series of seconds a step, one figure per launch: the settings in which
two contenders differ, and places of a step other than its kernels.

A setting's part is measured by moving it: the slower contender takes over the settings of the other one in every
combination, all of them raced in the same launches, and the parts are the means over all orders (Shapley values). Where
they differ in one setting and nothing else, it is the gap; where nobody raced between them, all settings are one.

Places are those of the frameworks' profilers. What a profiler makes a step longer by is taken off each place by how
many events were recorded within it, so that the places of a step sum to a plain one. Kernels are no candidate: what
computes is told layer by layer.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np

from photofinish.environments import COMMON_OPTIONS
from photofinish.measure import sabotage
from photofinish.stats import effects, paired, verdict
from photofinish.values import MODE, Contender, Estimate, Profile, Race
from photofinish.values.profile import DISPATCH, KERNELS, PLACES, UNPLACED

SETTING, LAYER, PLACE = "setting", "layer", "place"
MOST = 3  # settings that are moved one by one: 6 contenders more
Candidate = tuple[str, str]  # SETTING, LAYER or PLACE, and its name
Series = dict[Candidate, np.ndarray]


@dataclass(frozen=True)
class Cause:
    """Something that is shown to add to the gap between two contenders, or (below zero) to take back of it: seconds of
    a step, with the interval at the level at which that was decided (of a layer, as it is `in_place`). `what` says of a
    setting at which levels they stand."""

    kind: str
    name: str
    gap: Estimate
    what: str = ""


@dataclass(frozen=True, eq=False)
class Decided:
    """The figures of a candidate, one per launch, and what they say among all; None of a single launch."""

    figures: np.ndarray
    decision: verdict.Decision | None

    @property
    def gap(self) -> Estimate:
        return paired.mean_interval(self.figures, 1 - self.decision.level if self.decision else paired.POINT)

    def shown(self, least: float) -> bool:
        """Whether it is no zero, and `least` or more."""
        return self.decision is not None and self.decision.word != "UNDECIDED" and abs(self.decision.mean) >= least


def decide(pairs: Sequence[Series]) -> list[dict[Candidate, Decided]]:
    """All candidates of all pairs as one family: Holm's procedure."""
    figures = [each for series in pairs for each in series.values()]
    several = bool(figures) and len(figures[0]) > 1
    decisions = iter(verdict.decide_within(figures, 0.0) if several else [None] * len(figures))
    return [{key: Decided(each, next(decisions)) for key, each in series.items()} for series in pairs]


def found(a: str, b: str, decided: Mapping[Candidate, Decided], left: np.ndarray | None, least: float,
          loose: float = 0.0) -> tuple[Cause, ...]:
    """What is shown to make the gap of b over a, the first cause first: of layers those that are where they stand, too.
    `left` is what settings leave of it, `loose` what layers do, as a share of all that they tell."""
    one, other = Contender.parse(a), Contender.parse(b)
    moved = differences(one, other)
    shown = [Cause(kind, name, in_place(each.gap, loose) if kind == LAYER else each.gap,
                   levels(one, other, name) if kind == SETTING and name in moved else "")
             for (kind, name), each in decided.items() if each.shown(least)]
    shown = [each for each in shown if not each.gap.low <= 0 <= each.gap.high]
    return ranked(shown, None if left is None or len(left) < 2 else paired.mean_interval(left), least)


def in_place(alone: Estimate, loose: float) -> Estimate:
    """What a layer adds where it stands: it was timed alone, and no layer is told more exactly than all of them
    together tell the step."""
    off = loose * abs(alone.value)
    return replace(alone, low=alone.value - float(np.hypot(alone.value - alone.low, off)),
                   high=alone.value + float(np.hypot(alone.high - alone.value, off)))


def differences(a: Contender, b: Contender) -> tuple[str, ...]:
    """The settings in which two contenders stand at different levels: of two frameworks, or two versions of one, those
    that every contender has. What was planted on purpose is no setting: it is to be found."""
    alike = (a.framework, a.version) == (b.framework, b.version)
    names = dict.fromkeys([MODE, *(key for each in (a, b) for key, _ in each.options)] if alike else COMMON_OPTIONS)
    return tuple(name for name in names if name not in sabotage.OPTIONS and a.setting(name) != b.setting(name))


def levels(a: Contender, b: Contender, name: str) -> str:
    """How b stands in a setting: "2 instead of 1"."""
    unset = "what the race sets" if name in COMMON_OPTIONS else "the default"
    return " instead of ".join(each.setting(name) or unset for each in (b, a))


def between(a: Contender, b: Contender) -> tuple[Contender, ...]:
    """Who else must race so that the settings of two can be told apart: nobody where they differ in one setting alone,
    or in more than MOST."""
    names = differences(a, b)
    found = [_moved(one, other, moved) for one, other in ((a, b), (b, a)) for moved in _subsets(names)]
    return tuple(each for each in dict.fromkeys(found) if each not in (a, b)) if names else ()


def settings(a: str, b: str, steps: Mapping[str, np.ndarray]) -> tuple[Series, np.ndarray | None]:
    """What each setting adds to the gap of b over a, and what is left of it; None for that where no setting differs or
    nobody raced between the two. `steps` are the seconds of each contender's step by launch.

    Settings that were not raced apart are one, if nothing else differs.
    """
    one, other = Contender.parse(a), Contender.parse(b)
    names = differences(one, other)
    cells = {moved: _moved(other, one, moved).name for moved in _subsets(names)}
    if names and cells and set(cells.values()) <= steps.keys():
        def value(moved: frozenset[int]) -> np.ndarray:
            return steps[cells[tuple(names[i] for i in sorted(moved))]]

        shares = effects.shapley(len(names), value)
        return {(SETTING, name): -each for name, each in zip(names, shares)}, steps[cells[names]] - steps[a]
    if names and _moved(other, one, names) == replace(one, copy=1):
        return {(SETTING, " and ".join(names)): steps[b] - steps[a]}, np.zeros_like(steps[a])
    return {}, None


def places(race: Race, a: str, b: str, launches: Sequence[int]) -> Series:
    """What each place that both profilers tell adds to the gap; nothing where a launch has no profile of either."""
    own = [{each.launch: each for each in race.profiles if each.contender == name and each.profiled} for name in (a, b)]
    if not all(set(launches) <= of.keys() for of in own):
        return {}
    hidden = {place for of in own for each in of.values() for place in each.hidden}
    one, other = (np.array([_seconds(of[launch]) for launch in launches]) for of in own)
    return {(PLACE, place): other[:, i] - one[:, i] for i, place in enumerate(PLACES)
            if place not in (KERNELS, UNPLACED) and place not in hidden}


def ranked(causes: Sequence[Cause], rest: Estimate | None, least: float) -> tuple[Cause, ...]:
    """What adds most first. Layers and places tell where a setting acts, so that settings come before them where
    these leave a `rest` of the gap that is not shown to be there, or is below `least`."""
    whole = rest is not None and (rest.low <= 0 <= rest.high or abs(rest.value) < least)
    return tuple(sorted(causes, key=lambda each: (not (whole and each.kind == SETTING), -each.gap.value)))


def _subsets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All of them if they are few enough to be raced."""
    if len(names) <= MOST:
        yield from chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


def _moved(contender: Contender, towards: Contender, names: Sequence[str]) -> Contender:
    for name in names:
        contender = replace(contender.set_to(name, towards.setting(name)), copy=1)
    return contender


def _seconds(profile: Profile) -> list[float]:
    """Of a step at each of PLACES, as long as a plain one."""
    where = {place: float(np.mean([step.where[place] for step in profile.profiled])) for place in PLACES}
    longer = float(np.mean([step.seconds for step in profile.profiled])) - float(np.mean(profile.seconds))
    events = sum((Counter(step.events or {DISPATCH: 1}) for step in profile.profiled), Counter[str]())
    return [where[place] - longer * events[place] / events.total() for place in PLACES]
