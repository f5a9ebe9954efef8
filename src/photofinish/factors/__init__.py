"""Which settings make the difference: contenders raced in planned combinations of settings, what each setting does, and
the gap between two divided over what they differ in. Values that reports draw; `verbs.factors` makes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from photofinish.factors.plan import BATCH, Experiment, Factor
from photofinish.stats import effects, paired
from photofinish.stats.effects import Cell
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.values import Contender, Estimate, Result

CONFIRMED, NOT_CONFIRMED = "CONFIRMED", "NOT CONFIRMED"


@dataclass(frozen=True)
class Effect:
    """`ratio` is seconds per sample at the other level over those at a contender's own, of an interaction what both
    together do beyond that. `alike` names the factors; several groups of them cannot be told apart."""

    contender: str
    alike: tuple[tuple[str, ...], ...]
    ratio: Estimate

    @property
    def shown(self) -> bool:
        return effects.shown(self.ratio)


@dataclass(frozen=True)
class Share:
    """The part of a gap that a factor makes, as a ratio (above 1: it makes the slower one slow); that of all is their
    product. `factor` is None for the rest, which no factor explains; there is none of two that differ in factors
    alone, unless a fraction of their combinations was raced: then three may do something together. Its other level is
    that of the faster one, or of a setting that it does not have the other one of the experiment. `part` is of the
    gap's log, None where no gap is shown."""

    factor: Factor | None
    ratio: Estimate
    part: float | None

    @property
    def slows(self) -> bool:
        """Whether the factor is shown to make the slower one slow."""
        return self.factor is not None and _gain(self.ratio)


@dataclass(frozen=True)
class Gap:
    """`ratio` is seconds(slower) / seconds(faster)."""

    slower: Contender
    faster: Contender
    ratio: Estimate
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class Cause:
    """The one setting with the largest effect that is shown, of a gap the largest share of one whose removal alone is
    shown to gain: `changed` is `slower` without it, and `logs` what that should gain, log seconds(slower) /
    seconds(changed), one per launch."""

    factor: Factor
    slower: Contender
    changed: Contender
    logs: np.ndarray

    @property
    def predicted(self) -> Estimate:
        return paired.interval(self.logs)


@dataclass(frozen=True)
class Check:
    """The cause removed and raced again on fresh launches: `observed` is what that gained, `apart` that over what was
    predicted; both None with the `reason` why these launches do not tell. `gap` is what is left between who was slower
    and the faster one, None of one contender, where the one has become the other, or where the faster one failed."""

    observed: Estimate | None
    apart: Estimate | None
    gap: Estimate | None = None
    reason: str = ""

    @property
    def outcome(self) -> str:
        """Confirmed where a gain is shown that does not differ from the predicted one."""
        agrees = self.apart is not None and self.apart.low <= 1 <= self.apart.high
        return CONFIRMED if self.observed is not None and _gain(self.observed) and agrees else NOT_CONFIRMED


@dataclass(frozen=True)
class Recommended:
    """A contender with every setting that is shown to be faster at its other level there, if it is shown to gain by all
    of them: these are `moved`, and it is `taken`. `predicted` is seconds(own) / seconds(taken); `observed` the same of
    fresh launches, None where it was not raced again, or with the `reason` why these do not tell."""

    own: Contender
    taken: Contender
    moved: tuple[Factor, ...]
    predicted: Estimate
    observed: Estimate | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether fresh launches, if there were any, show a gain too."""
        return not self.reason if self.observed is None else _gain(self.observed)


@dataclass(frozen=True)
class Findings:
    """What the races of experiments say. `missing` maps a cell without figures that count to the reason: then there are
    no effects of its experiment. `again` is the race on fresh launches, and `check` what it says of the cause; None
    where nothing was raced again, or there is no cause. `recommended` has one for each contender that has something to
    gain."""

    contenders: tuple[Contender, ...]
    experiments: tuple[Experiment, ...]
    results: tuple[Result, ...]
    launches: int
    effects: tuple[Effect, ...]
    gap: Gap | None
    cause: Cause | None
    missing: dict[str, str]
    check: Check | None = None
    recommended: tuple[Recommended, ...] = ()
    again: Result | None = None


def find(contenders: Sequence[Contender], experiments: Sequence[Experiment], results: Sequence[Result]) -> Findings:
    """What the results say, of the launches that have every cell."""
    cells = cells_of(contenders, experiments)
    missing = _missing(results, cells)
    logs = effects.table([each.race for each in results], cells)
    if missing or len(logs) < 2:
        return Findings(tuple(contenders), tuple(experiments), tuple(results), len(logs), (), None, None, missing)
    reading = _Reading(tuple(cells), logs)
    found = reading.effects(experiments)
    gap = reading.gap(contenders, experiments) if len(contenders) > 1 else None
    cause = reading.of_gap(gap, experiments) if gap is not None else reading.largest(experiments[0], found)
    return Findings(tuple(contenders), tuple(experiments), tuple(results), len(logs), found, gap, cause, {},
                    recommended=tuple(reading.recommended(contenders, experiments, found)))


def cells_of(contenders: Sequence[Contender], experiments: Sequence[Experiment]) -> list[Cell]:
    """Everything to race, the contenders as they stand first."""
    own = [(each.name, experiments[0].batch) for each in contenders]
    return list(dict.fromkeys([*own, *(cell for each in experiments for cell in each.cells)]))


def _missing(results: Sequence[Result], cells: Sequence[Cell]) -> dict[str, str]:
    found = {}
    for result in results:
        race = result.race
        skipped = {each.contender: each.reason for each in race.skipped}
        for name in (name for name, batch in cells if batch == race.case.batch):
            failure = failure_of(race, name)
            reason = skipped.get(name) or (f"it failed: {failure.kind}" if failure else no_certificate(race, name))
            if reason:
                found[name] = reason
    return found


@dataclass(frozen=True, eq=False)
class _Reading:
    """`logs` are launches x cells."""

    cells: tuple[Cell, ...]
    logs: np.ndarray

    def effects(self, experiments: Sequence[Experiment]) -> tuple[Effect, ...]:
        """The settings of every experiment, then their interactions in twos: one family."""
        named = [(each, term) for each in experiments for term in effects.terms(np.array(each.rows))
                 if term.order in (1, 2)]
        named.sort(key=lambda pair: pair[1].order)
        ratios = effects.estimates(self.logs, [self._spread(each, term.weights) for each, term in named])
        return tuple(Effect(each.base.name, tuple(tuple(each.factors[i].name for i in group) for group in term.alike),
                            ratio) for (each, term), ratio in zip(named, ratios))

    def recommended(self, contenders: Sequence[Contender], experiments: Sequence[Experiment],
                    found: Sequence[Effect]) -> Iterator[Recommended]:
        """Of each contender that has something to gain; several may stand in one experiment."""
        for contender in contenders:
            of = next(each for each in experiments if _reaches(each, contender))
            start = _row_of(of, contender)
            effect = {each.alike[0]: each for each in found if each.contender == of.base.name and each.shown
                      and len(each.alike) == 1}
            which = {i for i, (each, sign) in enumerate(zip(of.factors, start)) if each.name != BATCH
                     and (each.name,) in effect and (effect[each.name,].ratio.value > 1) == (sign > 0)}
            if which:
                end = _moved(start, which)
                gain = self._expected(of, start) - self._expected(of, end)
                (predicted,) = effects.estimates(self.logs, [gain], len(found))
                if _gain(predicted):  # an effect is a mean over the other settings: beside those here it may be a loss
                    moved = tuple(_level(of.factors[i], start[i]) for i in sorted(which))
                    yield Recommended(contender, of.contender(end), moved, predicted)

    def gap(self, contenders: Sequence[Contender], experiments: Sequence[Experiment]) -> Gap:
        batch = experiments[0].batch
        columns = [self._only((each.name, batch)) for each in contenders]
        first = 0 if float(np.mean(self.logs @ (columns[0] - columns[1]))) >= 0 else 1
        slower, faster = contenders[first], contenders[1 - first]
        whole = columns[first] - columns[1 - first]
        of = experiments[first if len(experiments) > 1 else 0]
        mine = self._movable(of, slower, faster)
        start = _row_of(of, slower)

        def value(moved: frozenset[int]) -> np.ndarray:
            return self._expected(of, _moved(start, {mine[i] for i in moved}))
        weights = [-each for each in effects.shapley(len(mine), value)]
        rest = whole - sum(weights, np.zeros(len(self.cells)))
        ratio = paired.interval(self.logs @ whole)
        total = float(np.mean(self.logs @ whole))
        every = weights if np.allclose(rest, 0) else [*weights, rest]  # none in a full design of all that differs
        ratios = effects.estimates(self.logs, every)
        parts = [float(np.mean(self.logs @ each)) / total if effects.shown(ratio) else None for each in every]
        moves = [*(_level(of.factors[i], start[i]) for i in mine), None]
        shares = [Share(*each) for each in zip(moves, ratios, parts)]
        shares.sort(key=lambda each: (each.factor is None, -each.ratio.value))
        return Gap(slower, faster, ratio, tuple(shares))

    def of_gap(self, gap: Gap, experiments: Sequence[Experiment]) -> Cause | None:
        """The factor with the largest share, if the gap and the share are shown, of those that gain when they alone are
        removed: a share is the mean over what else was, too."""
        if not effects.shown(gap.ratio):
            return None
        of = next(each for each in experiments if _reaches(each, gap.slower))
        names = [each.name for each in of.factors]
        causes = (self._cause(of, _row_of(of, gap.slower), names.index(share.factor.name))
                  for share in gap.shares if share.factor is not None and share.slows)
        return next((each for each in causes if _gain(each.predicted)), None)

    def largest(self, of: Experiment, found: Sequence[Effect]) -> Cause | None:
        """Of one contender: the setting with the largest effect, from the slower level, of those that are shown and
        gain when they alone are changed: an effect is a mean over the other settings."""
        names, start = [each.name for each in of.factors], of.row()
        for each in sorted(found, key=lambda each: -abs(float(np.log(each.ratio.value)))):
            if each.shown and len(each.alike[0]) == 1 and each.alike[0][0] != BATCH:
                index = names.index(each.alike[0][0])
                cause = self._cause(of, start, index)
                if float(np.mean(cause.logs)) < 0:
                    cause = self._cause(of, _moved(start, {index}), index)
                if _gain(cause.predicted):
                    return cause
        return None

    def _cause(self, of: Experiment, start: tuple[int, ...], index: int) -> Cause:
        end = _moved(start, {index})
        gain = self._expected(of, start) - self._expected(of, end)
        return Cause(_level(of.factors[index], start[index]), of.contender(start), of.contender(end), self.logs @ gain)

    def _movable(self, of: Experiment, slower: Contender, faster: Contender) -> list[int]:
        """The factors that the slower can take from the faster, or that the faster does not have."""
        return [i for i, each in enumerate(of.factors) if each.name != BATCH
                and slower.setting(each.name) != faster.setting(each.name)]

    def _expected(self, of: Experiment, row: Sequence[int]) -> np.ndarray:
        return self._spread(of, effects.at(np.array(of.rows), row))

    def _spread(self, of: Experiment, weights: np.ndarray) -> np.ndarray:
        """Weights of an experiment's cells as weights of all."""
        found = np.zeros(len(self.cells))
        for cell, weight in zip(of.cells, weights):
            found[self.cells.index(cell)] += weight
        return found

    def _only(self, cell: Cell) -> np.ndarray:
        found = np.zeros(len(self.cells))
        found[self.cells.index(cell)] = 1
        return found


def _gain(ratio: Estimate) -> bool:
    """Whether seconds over those without something are shown to be more."""
    return effects.shown(ratio) and ratio.value > 1


def _reaches(of: Experiment, contender: Contender) -> bool:
    return of.contender(_row_of(of, contender)) == contender


def _row_of(of: Experiment, contender: Contender) -> tuple[int, ...]:
    """Where a contender stands in an experiment: at its own batch."""
    return of.row(frozenset(i for i, each in enumerate(of.factors)
                            if each.name != BATCH and contender.setting(each.name) == each.other))


def _moved(row: tuple[int, ...], which: set[int]) -> tuple[int, ...]:
    return tuple(-sign if i in which else sign for i, sign in enumerate(row))


def _level(factor: Factor, sign: int) -> Factor:
    """The factor as seen from a row."""
    return factor if sign < 0 else Factor(factor.name, factor.other, factor.own)
