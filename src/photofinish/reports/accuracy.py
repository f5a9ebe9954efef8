"""How often each contender's first guess is right, and where they disagree."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.render.document import Column, Interval, Table
from photofinish.reports.reading import contender
from photofinish.values import Accuracy


def table(found: Sequence[Accuracy]) -> Table:
    """A line per contender; the columns behind count the images that it guesses unlike another one: the first of those
    who guess alike on all of them, where not all do."""
    groups = _groups(found) if len(found) > 1 else []
    apart = groups if len(groups) > 1 else []
    columns = (Column("Contender", "contender"), Column("Right", "count"), Column("Top-1, 95 % interval", "accuracy"),
               *(Column(f"Unlike {name}", "count") for name in apart))
    rows = tuple((contender(each.contender), each.right, Interval(each.top1.value, each.top1.low, each.top1.high),
                  *(each.unlike.get(name) for name in apart)) for each in found)
    alike = f"All {len(found)} guess alike on every image. " if len(groups) == 1 else ""
    return Table("accuracy", columns, rows,
                 f"{alike}Wilson's interval: what other images of the same kind would show.")


def _groups(found: Sequence[Accuracy]) -> list[str]:
    """The first contender of each group that guesses alike."""
    firsts: list[str] = []
    for each in found:
        if all(each.unlike[first] for first in firsts):
            firsts.append(each.contender)
    return firsts
