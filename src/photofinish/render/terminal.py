"""A Document in a terminal: readable without colour, in a pipe and at any width."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table as Grid
from rich.text import Text as Rich

from photofinish.render import sketches
from photofinish.render.document import (
    Banner,
    Block,
    Calculator,
    Cell,
    Chart,
    Code,
    Column,
    Document,
    Facts,
    Fold,
    Heading,
    Note,
    Paragraph,
    Quantity,
    Shade,
    Span,
    Table,
    Text,
    Tiles,
)
from photofinish.render.quantities import write, write_column

_COLOURS = ("blue", "dark_orange3", "green", "magenta", "cyan", "yellow", "red", "bright_blue")
_STYLES = {"strong": "bold", "code": "bold", "quiet": "dim", "good": "green", "bad": "bold red"}
_TONES = {"good": "green", "open": "yellow", "bad": "red"}
_WIDEST = 40  # of a column, before its words are wrapped
_NARROWEST = 12  # of a column of words
_NAMES = ("code", "contender")
_WORDS = ("text", "code", "contender", "check")


def show(document: Document, console: Console, full: bool = False) -> None:
    """Prints the document. Folded parts are left out unless `full`."""
    console.print(render(document, console.width, full), crop=False)


def render(document: Document, width: int = 80, full: bool = False) -> RenderableType:
    """The document as something rich can print, laid out for `width` columns."""
    painter = _Painter(document, width, full)
    parts: list[RenderableType] = [Rich(document.title, style="bold"), Rich(document.subtitle, style="dim"), Rich()]
    for section in document.sections:
        if section.title:
            parts += [Rule(Rich(section.title, style="bold"), align="left", style="dim"), Rich()]
        for block in section.blocks:
            drawn = painter.draw(block)
            parts += [drawn, Rich()] if drawn is not None else []
    return Group(*parts)


class _Painter:
    def __init__(self, document: Document, width: int, full: bool) -> None:
        self.colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(document.series)}
        self.width = width
        self.full = full
        self.kinds: dict[type, Callable[[Any], RenderableType | None]] = {
            Heading: lambda block: Rich(block.text, style="bold"),
            Paragraph: lambda block: self.words(block.text),
            Banner: self.banner, Note: self.note, Table: self.table, Facts: self.facts, Code: self.code,
            Fold: self.fold, Chart: self.chart, Calculator: lambda block: None, Tiles: lambda block: None,
        }

    def draw(self, block: Block) -> RenderableType | None:
        return self.kinds[type(block)](block)

    def words(self, text: Text) -> Rich:
        line = Rich()
        for part in text:
            if isinstance(part, Quantity):
                line.append(write(part.value, part.hint))
            else:
                line.append_text(self.span(part))
        return line

    def span(self, part: str | Span) -> Rich:
        if isinstance(part, str):
            return Rich(part)
        if isinstance(part, Shade):
            return Rich(part.text, style=self.colours.get(part.series, ""))
        style = self.colours.get(part.text, "") if part.style == "contender" else _STYLES.get(part.style, "")
        return Rich(part.text, style=style)

    def banner(self, block: Banner) -> RenderableType:
        lines = [self.words(block.text), *(self.words(detail) for detail in block.details)]
        return Panel(Group(*lines), title=Rich(block.label, style="bold " + _TONES[block.tone]), title_align="left",
                     border_style=_TONES[block.tone], padding=(0, 1), width=min(self.width, 110))

    def note(self, block: Note) -> RenderableType:
        lead = Rich("Warning: ", style="bold yellow") if block.tone == "warning" else Rich("Note: ", style="dim")
        return lead + self.words(block.text)

    def code(self, block: Code) -> RenderableType:
        lines = "\n".join("    " + line for line in block.text.splitlines())
        body = Rich(lines, no_wrap=True, overflow="ignore")  # a command broken by us could not be copied
        return Group(Rich(block.title + ":", style="dim"), body) if block.title else body

    def facts(self, block: Facts) -> RenderableType:
        grid = Grid.grid(padding=(0, 2))
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(overflow="fold")
        for name, value in block.items:
            grid.add_row(Rich(name), Rich(write(value)))
        return grid

    def fold(self, block: Fold) -> RenderableType | None:
        if not self.full:
            return None
        drawn = [each for each in map(self.draw, block.blocks) if each is not None]
        return Group(Rich(block.title, style="bold"), *drawn)

    def chart(self, block: Chart) -> RenderableType | None:
        lines = sketches.sketch(block, min(self.width, 110))
        coloured = [self._paint(line) for line in lines]
        return Group(Rich(block.title, style="bold"), *coloured) if lines else None

    def _paint(self, line: str) -> Rich:
        """Gives a chart's row the colour of the contender it starts with."""
        name = line.split("  ")[0].strip()
        return Rich(line, style=self.colours.get(name, ""), no_wrap=True, overflow="crop")

    def table(self, block: Table) -> RenderableType:
        columns = [write_column([row[i] for row in block.rows], column.hint) for i, column in enumerate(block.columns)]
        widths = [min(_WIDEST, max([_heading(column.title), *map(len, cells)]))
                  for cells, column in zip(columns, block.columns)]
        parts: list[RenderableType] = []
        for chosen in self._parts(block, widths):
            parts += [Rich()] if parts else []
            parts.append(self._grid(block, columns, self._fitted(block, columns, widths, chosen), chosen))
        return Group(*parts, *([Rich(block.caption, style="dim")] if block.caption else []))

    def _parts(self, block: Table, widths: Sequence[int]) -> list[list[int]]:
        """Column numbers of each part of a table too wide for the screen; every part names its rows."""
        keys = _keys(block)
        parts: list[list[int]] = [[]]
        for i, width in enumerate(widths):
            used = sum(widths[j] + 2 for j in parts[-1])
            if i not in keys and not set(parts[-1]) <= set(keys) and used + width + 2 > self.width:
                parts.append(list(keys))
            parts[-1] += [i] if i not in parts[-1] else []
        return parts

    def _fitted(self, block: Table, columns: Sequence[Sequence[str]], widths: Sequence[int],
                chosen: Sequence[int]) -> list[int]:
        """Where names leave too little room for words, the words are wrapped and not the names; where that is not
        enough, names are folded, and then what else is wrapped, but no figure or word is broken."""
        fitted = list(widths)
        over = sum(widths[i] + 2 for i in chosen) - 2 - self.width
        last = chosen[-1]
        if over > 0 and block.columns[last].hint == "text" and widths[last] - over >= _NARROWEST:
            fitted[last] -= over
            return fitted
        keys = _keys(block)
        least = [_least(column, cells, i in keys) for i, (column, cells) in enumerate(zip(block.columns, columns))]
        for group in ([i for i in chosen if i in keys], [i for i in chosen if i not in keys]):
            while over > 0 and (wide := [i for i in group if fitted[i] > least[i]]):
                fitted[max(wide, key=fitted.__getitem__)] -= 1
                over -= 1
        return fitted

    def _grid(self, block: Table, columns: Sequence[Sequence[str]], widths: Sequence[int],
              chosen: Sequence[int]) -> RenderableType:
        grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for i in chosen:
            column = block.columns[i]
            grid.add_column(Rich(column.title), justify="left" if column.hint in _WORDS else "right", overflow="fold",
                            width=widths[i])
        for number, row in enumerate(block.rows):
            grid.add_row(*(self._cell(row[i], columns[i][number], block.columns[i].hint) for i in chosen))
        return grid

    def _cell(self, value: Cell, written: str, hint: str) -> Rich:
        if isinstance(value, Span):
            return self.span(value)
        if hint == "check" and value is not None:
            return Rich(written, style=_STYLES["good" if value else "bad"])
        return Rich(written, style=_STYLES["quiet"] if value is None else "")


def _keys(block: Table) -> list[int]:
    """The columns that name a row: the contender or the pair of them where they stand first or tell the rows apart by
    themselves, or else the first one; and as many after it as tell the rows apart."""
    hints = [column.hint for column in block.columns]
    named = hints.index("contender") if "contender" in hints else 0
    first = end = named if _apart(block, named, named + 1) else 0
    while hints[end:end + 1] == ["contender"]:
        end += 1
    ends = range(max(end, first + 1), len(hints))
    return list(range(first, next((end for end in ends if _apart(block, first, end)), max(first, named) + 1)))


def _apart(block: Table, first: int, end: int) -> bool:
    return len({row[first:end] for row in block.rows}) == len(block.rows)


def _least(column: Column, cells: Sequence[str], key: bool) -> int:
    """The width below which a word or a figure would be broken; a name may be."""
    name = column.hint in _NAMES or (key and column.hint in _WORDS)
    longest = _NARROWEST if name else max(map(len, " ".join(cells).split()), default=1)
    return max([longest, *map(len, column.title.split())])


def _heading(title: str) -> int:
    """The width at which a column's title takes no more than two lines."""
    longest = max(map(len, title.split()), default=1)
    return next(width for width in range(longest, len(title) + 2) if len(textwrap.wrap(title, width)) <= 2)
