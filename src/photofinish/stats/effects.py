"""What settings do to the time of a step: effects and interactions of planned experiments, and the gap between two
contenders divided over what they differ in.

Everything here is a weighting of the cells of an experiment. Each launch gives one value of it, on log time, and the
interval is Student's t over launches, so nothing is assumed of how cells scatter or hang together. Intervals that are
shown together hold together in 95 % of cases (Bonferroni). Designs have two levels (Box, Hunter & Hunter, Statistics
for Experimenters, 2005, chapters 5 and 6): -1 is a contender's own level, 1 the other one.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from photofinish.stats import paired, student
from photofinish.stats.verdict import ALPHA
from photofinish.values import Estimate, Race

Cell = tuple[str, int]  # contender and batch
CELLS = 16  # the most of one contender: more of them is a fraction
MOST = 8  # factors that so many cells tell apart from each other's interactions (resolution IV)


def signs(count: int) -> np.ndarray:
    """Cells x factors of -1 and 1, the first all -1: every combination, or where these are more than CELLS the
    fraction of highest resolution and least aberration that pyDOE3 finds."""
    from pyDOE3 import ff2n, fracfact, fracfact_opt

    found = ff2n(count) if 2**count <= CELLS else fracfact(fracfact_opt(count, count - CELLS.bit_length() + 1)[0])
    found = np.asarray(found, int)
    return np.asarray(-found * found[0], int)  # turned so that the contender as it stands is in it


@dataclass(frozen=True, eq=False)
class Term:
    """An effect or interaction, as the `column` of a design; `alike` are the groups of factors (by index) that have
    this column: several cannot be told apart."""

    alike: tuple[tuple[int, ...], ...]
    column: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Over the cells: the mean of those at 1 less that of those at -1."""
        return np.asarray(2 * self.column / len(self.column))

    @property
    def order(self) -> int:
        """1 of an effect, 2 of an interaction of two factors."""
        return len(self.alike[0])


def terms(design: np.ndarray) -> list[Term]:
    """All of a full design, up to two factors of a fraction, where more are taken for nothing; the mean comes first."""
    cells, count = design.shape
    found: list[Term] = []
    for order in range(1 + (count if cells == 2**count else 2)):
        for group in combinations(range(count), order):
            column = design[:, group].prod(axis=1)
            same = next((i for i, each in enumerate(found) if abs(each.column @ column) == cells), None)
            if same is None:
                found.append(Term((group,), column))
            else:
                found[same] = Term((*found[same].alike, group), found[same].column)
    return found


def at(design: np.ndarray, row: Sequence[int]) -> np.ndarray:
    """The weights whose sum is the log time expected at `row`: in a full design that of its cell. Interactions that
    cannot be told apart are left out."""
    clear = [each for each in terms(design) if len(each.alike) == 1]
    return np.asarray(sum(np.prod([row[i] for i in each.alike[0]]) * each.column for each in clear) / len(design))


def shapley(count: int, value: Callable[[frozenset[int]], np.ndarray]) -> list[np.ndarray]:
    """What each of `count` players adds to `value`, the mean over all orders in which they may come (Shapley, A value
    for n-person games, 1953)."""
    def added(player: int) -> Iterator[np.ndarray]:
        others = [each for each in range(count) if each != player]
        for size in range(count):
            share = math.factorial(size) * math.factorial(count - size - 1) / math.factorial(count)
            for group in combinations(others, size):
                yield share * (value(frozenset((*group, player))) - value(frozenset(group)))
    return [np.asarray(sum(added(player))) for player in range(count)]


def table(races: Iterable[Race], cells: Sequence[Cell]) -> np.ndarray:
    """Launches x cells: the log of seconds per sample over those of the first cell, of the launches that have all.
    Contenders of one race are compared round by round, races of other batches launch by launch."""
    columns: dict[Cell, dict[int, float]] = {}
    origin: dict[int, float] = {}
    for race in sorted(races, key=lambda each: each.case.batch != cells[0][1]):
        batch, steps = race.case.batch, paired.log_steps(race)
        names = [name for name, size in cells if size == batch and name in steps]
        if not names:
            continue
        first = paired.by_launch(steps[names[0]])
        origin = origin or {launch: each - math.log(batch) for launch, each in first.items()}
        for name in names:
            rounds = paired.round_differences(steps, names[0], name)
            columns[name, batch] = {launch: paired.location(each) + first[launch] - math.log(batch) - origin[launch]
                                    for launch, each in rounds.items() if launch in origin}
    if columns.keys() < set(cells):
        return np.empty((0, len(cells)))
    launches = sorted(set.intersection(*(set(columns[each]) for each in cells)))
    return np.array([[columns[each][launch] for each in cells] for launch in launches]).reshape(-1, len(cells))


def estimates(logs: np.ndarray, weights: Sequence[np.ndarray], family: int = 0) -> list[Estimate]:
    """exp of each weighting of the cells, with intervals that hold together (of `family` where there are more)."""
    level = 1 - ALPHA / max(family, len(weights), 1)
    return [paired.interval(logs @ each, level) for each in weights]


def shown(ratio: Estimate) -> bool:
    """Whether the interval leaves no doubt that there is a difference."""
    return bool(ratio.level) and not ratio.low <= 1 <= ratio.high


def over(first: np.ndarray, second: np.ndarray) -> Estimate:
    """exp of the mean of `first` less that of `second`, of launches of different races (Welch 1947)."""
    means, errors = zip(*(student.mean_and_error(each) for each in (first, second)))
    parts = [error**2 for error in errors]
    scale = sum(part**2 / (len(each) - 1) for part, each in zip(parts, (first, second)))
    reach = 0.0
    if scale:
        reach = student.quantile(1 - ALPHA / 2, sum(parts) ** 2 / scale) * math.sqrt(sum(parts))
    reach = min(reach, paired.FARTHEST)
    apart = means[0] - means[1]
    return Estimate(math.exp(apart), math.exp(apart - reach), math.exp(apart + reach), 1 - ALPHA)
