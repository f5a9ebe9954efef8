"""The tables of a Document as CSV: raw figures in base units (seconds, bytes), nothing rounded."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from photofinish.render.document import Cell, Column, Document, Interval, Span, Table, blocks_of

_UNITS = {"duration": " (s)", "difference": " (s)", "bytes": " (B)", "energy": " (J)", "rate": " (/s)",
          "speed": " (bit/s)", "percent": " (fraction)", "accuracy": " (fraction)"}


def tables(document: Document) -> dict[str, str]:
    """Table name -> CSV text, in reading order."""
    return {each.name: table(each) for each in blocks_of(document, Table) if isinstance(each, Table)}


def table(block: Table) -> str:
    """A header and one line per row; a figure with an interval takes three columns."""
    return joined([((), block)], ())


def render(documents: Sequence[Document], name: str = "standings") -> str:
    """One table of every document in one CSV, led by the document's title. Documents without it are left out."""
    found = [((document.title,), each) for document in documents for each in blocks_of(document, Table)
             if isinstance(each, Table) and each.name == name]
    return joined(found, ("Race",))


def joined(found: Sequence[tuple[tuple[str, ...], Table]], lead: tuple[str, ...]) -> str:
    """Tables with the same columns under one header; a table whose columns differ begins a header of its own."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header: list[str] = []
    for labels, block in found:
        wide = [any(isinstance(row[i], Interval) for row in block.rows) for i in range(len(block.columns))]
        titles = [*lead, *(title for column, three in zip(block.columns, wide) for title in _titles(column, three))]
        if titles != header:
            header = titles
            writer.writerow(header)
        writer.writerows([*labels, *_cells(row, wide)] for row in block.rows)
    return text.getvalue()


def _titles(column: Column, three: bool) -> Iterable[str]:
    title = column.title.replace(", 95 % interval", "") + _UNITS.get(column.hint, "")
    return (title, f"{title} low", f"{title} high") if three else (title,)


def _cells(row: tuple[Cell, ...], wide: Sequence[bool]) -> Iterable[object]:
    for value, three in zip(row, wide):
        if isinstance(value, Interval):
            yield from (_plain(value.value), _plain(value.low), _plain(value.high))
        else:
            yield _plain(value)
            yield from ("", "") if three else ()


def _plain(value: Cell) -> object:
    if isinstance(value, Span):
        return value.text
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    return "" if value is None else value
