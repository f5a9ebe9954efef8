"""Planned experiments: contenders with settings that have two levels each, and which combinations of them to race."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from photofinish import environments
from photofinish.errors import UsageError
from photofinish.stats import effects
from photofinish.stats.effects import Cell
from photofinish.values import MODE, Contender

_FACTOR = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<low>[^,\s]+),(?P<high>[^,\s]+)")
FORM = "write --factor layout=contiguous,channels_last"
BATCH = "batch"


@dataclass(frozen=True)
class Factor:
    """A setting and its two levels; None where a contender leaves it as it is by default."""

    name: str
    own: str | None
    other: str | None


@dataclass(frozen=True)
class Experiment:
    """What is raced of one contender. `rows` are the cells, a -1 (own level) or 1 (the other) for each factor, the
    contender as it stands first; `batch` is that of the contender as it stands."""

    base: Contender
    factors: tuple[Factor, ...]
    rows: tuple[tuple[int, ...], ...]
    batch: int

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Each row as the contender and batch to race."""
        return tuple((self.contender(row).name, self.size(row)) for row in self.rows)

    @property
    def full(self) -> bool:
        """Whether these are all combinations."""
        return len(self.rows) == 1 << len(self.factors)

    def contender(self, row: Sequence[int]) -> Contender:
        made = self.base
        for factor, sign in zip(self.factors, row):
            if factor.name != BATCH and sign > 0:
                made = made.set_to(factor.name, factor.other)
        return made

    def size(self, row: Sequence[int]) -> int:
        toggled = [each.other for each, sign in zip(self.factors, row) if each.name == BATCH and sign > 0]
        return int(toggled[0] or 0) if toggled else self.batch

    def row(self, toggled: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """The row with only these factors (by index) at their other levels."""
        return tuple(1 if i in toggled else -1 for i in range(len(self.factors)))


def factor(text: str) -> Factor:
    """From NAME=LOW,HIGH. Raises UsageError."""
    match = _FACTOR.fullmatch(text.strip())
    if not match:
        raise UsageError(f"{text!r} is not a factor with two levels", FORM)
    name, *levels = match.groups()
    if name == BATCH:
        if not all(each.isdecimal() and int(each) for each in levels):
            raise UsageError(f"{text}: a batch is a whole number from 1", "write --factor batch=8,32")
        levels = [str(int(each)) for each in levels]  # 08 is 8
    if levels[0] == levels[1]:
        raise UsageError(f"{text}: both levels are the same", FORM)
    return Factor(name, *levels)


def experiments(names: Sequence[str], asked: Sequence[str], batch: int, device: str = "cpu",
                ) -> tuple[tuple[Contender, ...], tuple[Experiment, ...]]:
    """The contenders as they stand, one or two, and the experiment of each: one for both where they differ in nothing
    but factors. A contender that does not say at which level it stands has the first; what two of one framework differ
    in are factors without being named. Raises UsageError."""
    contenders = environments.expand(*names, device=device)
    if not 1 <= len(contenders) <= 2 or len({replace(each, copy=1) for each in contenders}) < len(contenders):
        raise UsageError("factors are tried of one contender, or of two that differ",
                         "write -c torch:eager, or -c torch:eager,tensorflow:graph")
    factors = [factor(text) for text in asked]
    for each in factors:
        if sum(each.name == other.name for other in factors) > 1:
            raise UsageError(f"factor {each.name} is named twice", FORM)
    factors += _differences(contenders, {each.name for each in factors})
    if not factors:
        raise UsageError("there is no factor to try", FORM)
    _check_known(contenders, factors, device)
    standing = tuple(_standing(each, factors, device) for each in contenders)
    if len({replace(each, copy=1) for each in standing}) < len(standing):
        raise UsageError(f"both contenders stand as {standing[0].name}, for who does not say has the first level",
                         "write another level first, or name one contender")
    known = [[_from(own, each) for each in factors if _knows(own, each, device)] for own in standing]
    own_batch = next((int(each.own or batch) for each in factors if each.name == BATCH), batch)
    if len(standing) == 2 and _same_but_for(standing, known[0]):
        known.pop()
    return standing, tuple(_experiment(own, each, own_batch) for own, each in zip(standing, known))


def _differences(contenders: Sequence[Contender], named: set[str]) -> list[Factor]:
    if len({(each.framework, each.version, each.strategy, each.world) for each in contenders}) > 1 \
            or len(contenders) < 2:
        return []
    names = dict.fromkeys([MODE, *(key for each in contenders for key, _ in each.options)])
    levels = {name: (contenders[0].setting(name), contenders[1].setting(name)) for name in names}
    return [Factor(name, *pair) for name, pair in levels.items() if pair[0] != pair[1] and name not in named]


def _check_known(contenders: Sequence[Contender], factors: Sequence[Factor], device: str) -> None:
    """Raises UsageError for a factor that no contender has, as the first of them says it."""
    for each in factors:
        if not any(_knows(contender, each, device) for contender in contenders):
            for level in (each.own, each.other):
                environments.checked(contenders[0].set_to(each.name, level).name, device)


def _knows(contender: Contender, each: Factor, device: str) -> bool:
    if each.name == BATCH:
        return True
    try:
        for level in (each.own, each.other):
            environments.checked(contender.set_to(each.name, level).name, device)
    except UsageError:
        return False
    return True


def _standing(contender: Contender, factors: Sequence[Factor], device: str) -> Contender:
    """The contender with every factor that it knows at a level. Raises UsageError for one that is at neither."""
    for each in factors:
        if each.name == BATCH or not _knows(contender, each, device):
            continue
        level = contender.setting(each.name)
        if level in (each.own, each.other):
            continue
        if level is not None:
            raise UsageError(f"{contender.name} stands at {each.name}={level}, which is neither {each.own} nor "
                             f"{each.other}", f"write --factor {each.name}={level},{each.other}")
        contender = contender.set_to(each.name, each.own)
    return contender


def _from(contender: Contender, each: Factor) -> Factor:
    """The factor as seen by who may stand at its second level."""
    if each.name != BATCH and contender.setting(each.name) == each.other:
        return Factor(each.name, each.other, each.own)
    return each


def _same_but_for(standing: Sequence[Contender], factors: Sequence[Factor]) -> bool:
    second = standing[1]
    for each in factors:
        if each.name != BATCH:
            second = second.set_to(each.name, each.own)
    return second == standing[0]


def _experiment(own: Contender, factors: Sequence[Factor], batch: int) -> Experiment:
    """Batches are crossed with the rest, since every contender of a race has its batch."""
    ordered = sorted(factors, key=lambda each: each.name == BATCH)
    inner = [each for each in ordered if each.name != BATCH]
    if len(inner) > effects.MOST:
        raise UsageError(f"{len(inner)} factors of {own.name} are too many for {effects.CELLS} combinations",
                         f"name {effects.MOST} at most")
    rows = [tuple(map(int, row)) for row in effects.signs(len(inner))] if inner else [()]
    if len(inner) < len(ordered):
        rows = [(*row, sign) for sign in (-1, 1) for row in rows]
    return Experiment(own, tuple(ordered), tuple(rows), batch)
