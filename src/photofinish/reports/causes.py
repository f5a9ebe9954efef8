"""What makes the gap between two contenders: in a sentence, as a banner, as a table, and for --json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from photofinish.explain.causes import LAYER, PLACE, SETTING, Cause
from photofinish.explain.epochs import EpochComparison
from photofinish.explain.layers import Comparison, Line
from photofinish.render.document import Banner, Column, Quantity, Table, Text
from photofinish.reports.json import estimated
from photofinish.reports.reading import interval
from photofinish.stats.student import confidence
from photofinish.values import Estimate, Part

BRIEF = 12  # lines of the table in a terminal


def banner(comparison: Comparison | EpochComparison, said: Text, details: tuple[Text, ...]) -> Banner:
    """How many causes are named."""
    count = len(comparison.causes)
    label = f"{count or 'NO'} CAUSE{'' if count == 1 else 'S'} NAMED"
    return Banner("good" if count else "open", label, said, details)


def first(comparison: Comparison | EpochComparison) -> Text:
    """The first cause, which a layer is told as anyway."""
    cause = next(iter(comparison.causes), None)
    if cause is None or cause.kind == LAYER or cause.gap.value < 0:
        return ()
    return ("First comes ", named(cause, ()), ", which adds ", *between(cause.gap, "duration"), ". ")


def named(cause: Cause, lines: tuple[Line, ...]) -> str:
    """Its name, with what it is; a layer's is among the lines."""
    if cause.kind == LAYER:
        return f"{cause.name} ({layer(next(line.part for line in lines if line.part.name == cause.name))})"
    return f"{cause.name} ({cause.what})" if cause.what else cause.name


def tables(causes: tuple[Cause, ...], lines: tuple[Line, ...], brief: bool) -> Iterator[Table]:
    """All of them, of which a terminal shows the first; nothing where there is none."""
    found = causes[:BRIEF] if brief else causes
    if found:
        columns = (Column("Cause"), Column("Is"), Column("Adds to the gap", "difference"))
        rows = tuple((named(each, lines), _KINDS[each.kind], interval(each.gap)) for each in found)
        left = len(causes) - len(found)
        levels = confidence(*(each.gap.level for each in causes))
        yield Table("causes", columns, rows, "What is shown to make a difference, the first cause first. In 5 % of "
                    f"cases at most is any of them none (Holm's procedure, with intervals of {levels}). Settings, "
                    "layers and places each divide the whole gap: layers and places tell where a setting acts. A "
                    "layer was timed alone: its interval allows for as large a share of it as the layers together "
                    "leave of the gap."
                    + (f" The HTML report has {left} more." if left else ""))


_KINDS = {SETTING: "a setting", LAYER: "a layer", PLACE: "a place"}


def between(estimate: Estimate, hint: str) -> Text:
    """With its interval, which one launch does not have."""
    if not estimate.level:
        return (Quantity(estimate.value, hint),)
    return (Quantity(estimate.value, hint), " (", Quantity(estimate.low, hint), " to ", Quantity(estimate.high, hint),
            ")")


def layer(part: Part) -> str:
    """What a layer is: its kind, and the shapes that it takes."""
    return f"{part.kind} of {' and '.join(shape.partition(' ')[2] or 'one value' for shape in part.shapes)}"


def ranked(causes: tuple[Cause, ...]) -> list[dict[str, Any]]:
    """As documented for --json."""
    return [{"kind": each.kind, "name": each.name, "what": each.what, "gap": decided(each.gap)} for each in causes]


def decided(gap: Estimate) -> dict[str, Any]:
    """An estimate with the level that Holm's procedure reached."""
    return {**(estimated(gap) or {}), "level": gap.level}
