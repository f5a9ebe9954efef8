"""How often each contender's first guess is right, and where they disagree."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.render.document import Cell, Column, Interval, Table
from photofinish.reports.reading import contender
from photofinish.values import Accuracy


def table(found: Sequence[Accuracy]) -> Table:
    """A line per contender; the columns behind count the images that it guesses unlike each other one."""
    columns = (Column("Contender", "contender"), Column("Right", "count"), Column("Top-1, 95 % interval", "percent"),
               *(Column(f"Unlike {each.contender}", "count") for each in found if len(found) > 1))
    rows = tuple(_line(each, found) for each in found)
    return Table("accuracy", columns, rows, "Wilson's interval: what other images of the same kind would show.")


def _line(own: Accuracy, found: Sequence[Accuracy]) -> tuple[Cell, ...]:
    unlike = tuple(own.unlike.get(each.contender) for each in found if len(found) > 1)
    return (contender(own.contender), own.right, Interval(own.top1.value, own.top1.low, own.top1.high), *unlike)
