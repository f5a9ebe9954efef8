"""Where the gap between two contenders comes from, layer by layer: read from a race that timed them.

What a layer takes is the step of its scaffold with it less what the scaffold takes (`explain.anatomy`): the start of a
step, a head for each input and a tail for each output. Of the smallest shape of a kind (an image, a sequence, a vector)
head and tail are known: its scaffold with and without the factor, and the start, which is what is left when a vector's
tail is taken for as long as its head (one operation on one value each). Of another shape they take what those do, and
what its scaffold takes over the smallest, half of it each. Where the output of a layer has the shape of its input this
is exact; in a chain of others the halves of one cancel those of the next.

All figures are seconds of one launch, compared launch by launch. Which layers make a difference, and which settings and
places of a step (`explain.causes`), is decided by Student's t over launches, with Holm's procedure over all of them and
all pairs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.explain.anatomy import CHAIN, LINKS, SIMPLEST, axes_of, tiny
from photofinish.explain.causes import LAYER, Candidate, Cause, Decided, decide, found, in_place, places, settings
from photofinish.stats import paired
from photofinish.stats.paired import mean_interval
from photofinish.values import Block, Estimate, Part, Race

Own = dict[str, np.ndarray]  # {layer, START or WHOLE: seconds of one contender, one figure per launch}
LEAST = 1e-3  # of the faster step: what adds less is no cause of anything, however surely it is there
START, WHOLE, OPERATION = "the start of a step", "the whole model", "an operation on one value"


@dataclass(frozen=True)
class Line:
    """One distinct layer in a comparison of `a` with `b`: seconds of one use of it in each, their ratio b / a (None
    where one is too short to tell), and what all its uses add to the gap. `shown` says that this is not zero and
    LEAST of a step or more; `gap` has the interval at the level at which that was decided, where the layer stands
    (`causes.in_place`). `forward` are the seconds of its inference."""

    part: Part
    a: Estimate
    b: Estimate
    ratio: Estimate | None
    gap: Estimate
    shown: bool
    forward: Mapping[str, Estimate]


@dataclass(frozen=True)
class Account:
    """Where one contender's step goes: `layers` is the sum of its layers, each as often as it stands in the model,
    `start` what a step takes that computes next to nothing, `rest` what is left: less than nothing where layers take
    less together than one by one. `operation` is what one more operation on a single value takes, in the step and,
    where that was timed beside a training, in inference (`forward_operation`); None where it was not timed."""

    contender: str
    step: Estimate
    layers: Estimate
    start: Estimate
    rest: Estimate
    operation: Estimate | None = None
    forward_operation: Estimate | None = None


@dataclass(frozen=True)
class Comparison:
    """The gap, seconds(b) - seconds(a) of a step, and its parts: lines by what they add to it, most first, then what
    layers together, the start of a step and the rest add. `causes` are the settings, layers and places of a step that
    are shown to make a difference, the first cause first. `lacking` are layers that were not timed in both."""

    a: str
    b: str
    launches: int
    gap: Estimate
    lines: tuple[Line, ...]
    layers: Estimate
    start: Estimate
    rest: Estimate
    accounts: tuple[Account, ...]
    causes: tuple[Cause, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[tuple[str, Line], ...]:
        """Every node with its line, in the model's running order."""
        places = {place: (node, line) for line in self.lines for place, node in zip(line.part.places, line.part.nodes)}
        return tuple(places[place] for place in sorted(places))

    @property
    def named(self) -> tuple[Line, ...]:
        """The layers that are shown to make a difference."""
        return tuple(line for line in self.lines if line.shown)


def compare(race: Race, names: Sequence[str], forward: Race | None = None) -> tuple[Comparison, ...]:
    """The first of `names` with each of the others, but for pairs that no complete launch compares. `forward` is the
    inference that was timed beside a training."""
    launches = sorted(launch.number for launch in race.launches)
    own = {name: _own(race, name, launches) for name in names}
    ahead = {name: {} if forward is None else _own(forward, name, launches) for name in names}
    steps = {name: _seconds(rounds, launches) for name, rounds in paired.log_steps(race).items()
             if launches and set(launches) <= rounds.keys()}
    parts = [part for part in race.parts if part.count]
    pairs = [_Pair(race, own[names[0]], own[b], names[0], b, parts, steps) for b in names[1:]
             if launches and WHOLE in own[names[0]] and WHOLE in own[b]]
    return tuple(pair.compared(decided, {name: ahead[name] for name in (pair.a, pair.b)})
                 for pair, decided in zip(pairs, decide([pair.candidates for pair in pairs])))


def own_seconds(race: Race, name: str) -> dict[str, float]:
    """The mean over complete launches of what each layer takes on its own, and of the WHOLE model."""
    launches = sorted(launch.number for launch in race.launches)
    return {part: float(np.mean(seconds)) for part, seconds in _own(race, name, launches).items()}


def _own(race: Race, name: str, launches: Sequence[int]) -> Own:
    """What each layer takes on its own, what a step's start does, and the whole model's step. Whatever was not timed
    in each of the launches is left out."""
    blocks: dict[str, list[Block]] = {}
    for block in race.part_blocks:
        if block.contender == name and not block.repeated and block.seconds:
            blocks.setdefault(block.part, []).append(block)
    rounds = {part: paired.rounds_of([name], of)[name] for part, of in blocks.items()}
    rounds[WHOLE] = paired.log_steps(race)[name]
    steps = {part: _seconds(of, launches) for part, of in rounds.items() if set(launches) <= of.keys()}
    if not launches or not {tiny(SIMPLEST), tiny(SIMPLEST, head=False)} <= steps.keys():
        return {}
    start = 2 * steps[tiny(SIMPLEST, head=False)] - steps[tiny(SIMPLEST)]
    found = {START: start, **({WHOLE: steps[WHOLE]} if WHOLE in steps else {})}
    if CHAIN in steps:
        found[OPERATION] = (steps[CHAIN] - steps[tiny(SIMPLEST)]) / LINKS
    for part in race.parts:
        edges = (*part.inputs, *part.outputs)
        kinds = [tiny(axes_of(edge), head) for edge in edges for head in (True, False)]
        if {part.name, *edges, *kinds} <= steps.keys():
            scaffold = [start, *(_head(steps, edge) for edge in part.inputs),
                        *(_tail(steps, edge, start) for edge in part.outputs)]
            found[part.name] = steps[part.name] - np.sum(scaffold, axis=0)
    return found


def _head(steps: Own, edge: str) -> np.ndarray:
    smallest, bare = (steps[tiny(axes_of(edge), head)] for head in (True, False))
    return np.asarray(smallest - bare + (steps[edge] - smallest) / 2)


def _tail(steps: Own, edge: str, start: np.ndarray) -> np.ndarray:
    smallest, bare = (steps[tiny(axes_of(edge), head)] for head in (True, False))
    return np.asarray(bare - start + (steps[edge] - smallest) / 2)


def _seconds(rounds: paired.Rounds, launches: Sequence[int]) -> np.ndarray:
    logs = paired.by_launch(rounds)
    return np.array([math.exp(logs[launch]) for launch in launches])


class _Pair:
    """Two contenders, and all that may make the gap between them."""

    def __init__(self, race: Race, one: Own, other: Own, a: str, b: str, parts: Sequence[Part],
                 steps: Mapping[str, np.ndarray]) -> None:
        self.a, self.b, self.one, self.other, self.parts = a, b, one, other, parts
        self.timed = [part for part in parts if part.name in one and part.name in other]
        self.least = LEAST * float(np.mean(one[WHOLE]))
        moved, self.left = settings(a, b, steps)
        layers = {(LAYER, part.name): part.count * (other[part.name] - one[part.name]) for part in self.timed}
        launches = sorted(launch.number for launch in race.launches)
        self.candidates = {**moved, **layers, **places(race, a, b, launches)}

    def compared(self, decided: Mapping[Candidate, Decided], ahead: Mapping[str, Own]) -> Comparison:
        series = {name: _account(own, self.timed) for name, own in ((self.a, self.one), (self.b, self.other))}
        gaps = {key: mean_interval(series[self.b][key] - series[self.a][key]) for key in series[self.a]}
        own = {self.a: self.one, self.b: self.other}
        accounts = tuple(Account(name, **{key: mean_interval(each) for key, each in of.items()},
                                 operation=_operation(own[name]), forward_operation=_operation(ahead[name]))
                         for name, of in series.items())
        told = sum(abs(decided[LAYER, part.name].gap.value) for part in self.timed)
        loose = abs(gaps["rest"].value) / told if told else 0.0
        causes = found(self.a, self.b, decided, self.left, self.least, loose)
        named = {each.name for each in causes if each.kind == LAYER}
        lines = [self._line(part, in_place(decided[LAYER, part.name].gap, loose), part.name in named,
                            {name: mean_interval(own[part.name]) for name, own in ahead.items() if part.name in own})
                 for part in self.timed]
        ordered = tuple(sorted(lines, key=lambda line: -abs(line.gap.value)))
        return Comparison(self.a, self.b, len(self.one[WHOLE]), gaps["step"], ordered, gaps["layers"], gaps["start"],
                          gaps["rest"], accounts, causes,
                          tuple(part.name for part in self.parts if part not in self.timed))

    def _line(self, part: Part, gap: Estimate, shown: bool, forward: Mapping[str, Estimate]) -> Line:
        one, other = self.one[part.name], self.other[part.name]
        told = np.all(one > 0) and np.all(other > 0)
        ratio = paired.interval(np.log(other) - np.log(one)) if told else None
        return Line(part, mean_interval(one), mean_interval(other), ratio, gap, shown, forward)


def _operation(own: Own) -> Estimate | None:
    return mean_interval(own[OPERATION]) if OPERATION in own else None


def _account(own: Own, timed: Sequence[Part]) -> dict[str, np.ndarray]:
    layers = sum((part.count * own[part.name] for part in timed), np.zeros_like(own[WHOLE]))
    return {"step": own[WHOLE], "layers": layers, "start": own[START], "rest": own[WHOLE] - layers - own[START]}
