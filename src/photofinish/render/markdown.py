"""A Document as Markdown that reads well unrendered too: tables with pipes, charts in characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from photofinish.render import sketches
from photofinish.render.document import (
    Banner,
    Block,
    Calculator,
    Chart,
    Code,
    Document,
    Facts,
    Fold,
    Heading,
    Note,
    Paragraph,
    Quantity,
    Span,
    Table,
    Text,
    Tiles,
)
from photofinish.render.quantities import write, write_column

_MARKS = {"strong": "**", "code": "`", "contender": "`", "bad": "**"}
_WORDS = ("text", "code", "contender", "check")


def render(documents: Sequence[Document]) -> str:
    """All documents in one text, each under a heading of the first level."""
    return "\n".join(_document(each) for each in documents)


def _document(document: Document) -> str:
    parts = [f"# {_escaped(document.title)}", _escaped(document.subtitle)]
    for section in document.sections:
        parts += [f"## {_escaped(section.title)}"] if section.title else []
        parts += [_KINDS[type(block)](block) for block in section.blocks]
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(text: str) -> str:
    for mark in ("\\", "`", "*", "_", "<", "[", "|"):
        text = text.replace(mark, "\\" + mark)
    return text.replace("\n", " ")


def _words(text: Text) -> str:
    return "".join(_part(each) for each in text)


def _part(part: str | Span | Quantity) -> str:
    if isinstance(part, Quantity):
        return _escaped(write(part.value, part.hint))
    if isinstance(part, str):
        return _escaped(part)
    mark = _MARKS.get(part.style, "")
    return mark + (part.text if mark == "`" else _escaped(part.text)) + mark


def _banner(block: Banner) -> str:
    lines = [f"> **{block.label}.** {_words(block.text)}", *(f"> {_words(detail)}" for detail in block.details)]
    return "\n>\n".join(lines)


def _note(block: Note) -> str:
    return f"> {'**Warning.**' if block.tone == 'warning' else 'Note.'} {_words(block.text)}"


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"


def _code(block: Code) -> str:
    return (f"{_escaped(block.title)}:\n\n" if block.title else "") + _fenced(block.text)


def _facts(block: Facts) -> str:
    return "\n".join(f"- {_escaped(name)}: {_escaped(write(value))}" for name, value in block.items)


def _table(block: Table) -> str:
    columns = [[_cell(row[i], text) for row, text in
                zip(block.rows, write_column([row[i] for row in block.rows], column.hint))]
               for i, column in enumerate(block.columns)]
    titles = [_escaped(column.title) for column in block.columns]
    widths = [max(3, len(title), *map(len, cells), 0) for title, cells in zip(titles, columns)]
    right = [column.hint not in _WORDS for column in block.columns]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.rjust(width) if turn else cell.ljust(width) for cell, width, turn in zip(cells, widths, right))
        return f"| {' | '.join(padded)} |"
    rule = "|" + "|".join("-" * (width + 1) + (":" if turn else "-") for width, turn in zip(widths, right)) + "|"
    rows = [line([cells[i] for cells in columns]) for i in range(len(block.rows))]
    return "\n".join([line(titles), rule, *rows]) + (f"\n\n{_escaped(block.caption)}" if block.caption else "")


def _cell(value: Any, written: str) -> str:
    if not isinstance(value, Span) or not value.text:
        return _escaped(written)
    return _part(value).replace("|", "\\|") if _MARKS.get(value.style) == "`" else _part(value)


def _chart(block: Chart) -> str:
    lines = sketches.sketch(block, 100)
    return f"**{_escaped(block.title)}**\n\n" + _fenced("\n".join(lines)) if lines else ""


def _fold(block: Fold) -> str:
    inner = [_KINDS[type(each)](each) for each in block.blocks]
    return "\n\n".join([f"### {_escaped(block.title)}", *inner])


def _nothing(block: Block) -> str:
    return ""  # a calculator needs a reader's input; the table beside it has the figures


_KINDS: dict[type, Callable[[Any], str]] = {
    Heading: lambda block: f"### {_escaped(block.text)}",
    Paragraph: lambda block: _words(block.text),
    Banner: _banner, Note: _note, Table: _table, Facts: _facts, Code: _code, Fold: _fold, Chart: _chart,
    Calculator: _nothing, Tiles: _nothing,
}
