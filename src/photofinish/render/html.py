"""Documents as one self-contained HTML page: opened from a file it loads nothing, in light, dark and print."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from photofinish.render import charts
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
    Interval,
    Note,
    Paragraph,
    Quantity,
    Section,
    Shade,
    Span,
    Table,
    Text,
    Tiles,
)
from photofinish.render.quantities import DASH, plain, write, write_column

_COLOURS = 8
_PARTS = 6
_WORDS = ("text", "code", "contender", "check")
_IN_FRAME = '<base href="about:srcdoc">'  # or links to a place of the page would lead to the page around it
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def render(documents: Sequence[Document], made: str = "", frame: str = "") -> str:
    """The page of one or several races, a tab for each. `made` is shown at its top (a date, a version); `frame` stands
    in its head."""
    titles = list(dict.fromkeys(document.title for document in documents))
    painters = [_Painter(document, f"race{i}") for i, document in enumerate(documents, 1)]
    body = "\n".join(painter.article() for painter in painters)
    return _PAGE.format(policy=_POLICY, title=escape("; ".join(titles)), frame=frame, style=_asset("page.css"),
                        script=_asset("page.js"), made=escape(made), tabs=_tabs(painters), body=body)


def embedded(documents: Sequence[Document], height: int = 720) -> str:
    """The page in a frame of its own, for notebooks: its styles touch nothing else."""
    return (f'<iframe title="Photofinish" style="width:100%;height:{height}px;border:0" '
            f'srcdoc="{escape(render(documents, frame=_IN_FRAME))}"></iframe>')


def _asset(name: str) -> str:
    return files("photofinish.render").joinpath(name).read_text(encoding="utf-8")


def _tabs(painters: Sequence[_Painter]) -> str:
    if len(painters) < 2:
        return ""
    buttons = "".join(
        f'<button role="tab" aria-controls="{each.id}" aria-selected="false"><b>{escape(each.document.title)}</b>'
        f"<span>{escape(plain(each.document.summary))}</span></button>" for each in painters)
    return f'<div class="tabs" role="tablist" aria-label="Races">{buttons}</div>'


class _Painter:
    """Draws one document. It keeps the colours of its series, and ids apart from other documents'."""

    def __init__(self, document: Document, identity: str) -> None:
        self.document = document
        self.id = identity
        self.colours = {name: f"var(--c{i % _COLOURS + 1})" for i, name in enumerate(document.series)}
        self.kinds: dict[type, Callable[[Any], str]] = {
            Heading: lambda block: f"<h3>{escape(block.text)}</h3>",
            Paragraph: lambda block: f"<p>{self.words(block.text)}</p>",
            Banner: self.banner, Note: self.note, Table: self.table, Facts: self.facts, Code: self.code,
            Fold: self.fold, Chart: self.chart, Calculator: self.calculator, Tiles: self.tiles,
        }
        self.charts = 0

    def article(self) -> str:
        document = self.document
        links = "".join(f'<a href="#{self.anchor(section)}">{escape(section.title)}</a>'
                        for section in document.sections if section.title)
        sections = "\n".join(
            f'<section id="{self.anchor(section)}">'
            + (f"<h2>{escape(section.title)}</h2>" if section.title else "")
            + "\n".join(self.draw(block) for block in section.blocks) + "</section>"
            for section in document.sections)
        return (f'<article class="race" id="{self.id}"><header><h1>{escape(document.title)}</h1>'
                f'<p class="subtitle">{escape(document.subtitle)}</p></header>'
                f'<nav class="contents" aria-label="Contents">{links}</nav><div>{sections}</div></article>')

    def anchor(self, section: Section) -> str:
        return escape(f"{self.id}-{section.name}")

    def draw(self, block: Block) -> str:
        return self.kinds[type(block)](block)

    def words(self, text: Text) -> str:
        return "".join(self.part(each) for each in text)

    def part(self, part: str | Span | Quantity) -> str:
        if isinstance(part, Quantity):
            return escape(write(part.value, part.hint)).replace(" ", "&nbsp;")
        if isinstance(part, str):
            return escape(part)
        text = escape(part.text)
        if isinstance(part, Shade):
            colour = self.colours.get(part.series, "transparent")
            return f'<span class="shade" style="--c:{colour};--s:{60 * part.strength:.0f}%">{text}</span>'
        if part.style == "contender":
            text = text.replace("[", "<wbr>[").replace(",", ",<wbr>")
            return f'<span class="contender" style="--c:{self.colours.get(part.text, "var(--quiet)")}">{text}</span>'
        tag = {"strong": "strong", "code": "code"}.get(part.style)
        return f"<{tag}>{text}</{tag}>" if tag else f'<span class="{part.style}">{text}</span>' if part.style else text

    def banner(self, block: Banner) -> str:
        details = "".join(f'<p class="detail">{self.words(detail)}</p>' for detail in block.details)
        return (f'<div class="banner {block.tone}"><p class="label">{escape(block.label)}</p>'
                f'<p class="verdict">{self.words(block.text)}</p>{details}</div>')

    def note(self, block: Note) -> str:
        lead = "<b>Warning.</b> " if block.tone == "warning" else ""
        return f'<p class="note {block.tone}">{lead}{self.words(block.text)}</p>'

    def code(self, block: Code) -> str:
        caption = f"<figcaption>{escape(block.title)}</figcaption>" if block.title else ""
        return f'<figure class="code">{caption}<pre><code>{escape(block.text)}</code></pre></figure>'

    def facts(self, block: Facts) -> str:
        return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(write(value))}</dd>"
                                for name, value in block.items) + "</dl>"

    def fold(self, block: Fold) -> str:
        return (f"<details><summary>{escape(block.title)}</summary>"
                + "\n".join(self.draw(each) for each in block.blocks) + "</details>")

    def table(self, block: Table) -> str:
        columns = [write_column([row[i] for row in block.rows], column.hint) for i, column in enumerate(block.columns)]
        head = "".join(f"<th{_side(column)} scope=\"col\">{escape(column.title)}</th>" for column in block.columns)
        rows = "".join("<tr>" + "".join(
            f"<td{_side(column)}>{self.cell(value, columns[i][number], column.hint)}</td>"
            for i, (value, column) in enumerate(zip(row, block.columns))) + "</tr>"
            for number, row in enumerate(block.rows))
        caption = f"<figcaption>{escape(block.caption)}</figcaption>" if block.caption else ""
        shaded = {cell.series for row in block.rows for cell in row if isinstance(cell, Shade)}
        return (f'<figure class="table">{self.swatches(shaded)}<div class="scroll" tabindex="0"><table>'
                f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{caption}</figure>")

    def cell(self, value: Cell, written: str, hint: str) -> str:
        if isinstance(value, Span):
            return self.part(value)
        if value is None:
            return f'<span class="quiet">{DASH}</span>'
        if isinstance(value, Interval):
            figure, _, interval = written.partition(" (")
            return f"{escape(figure)} <small>{escape(interval.rstrip(')'))}</small>"
        if hint == "check":
            return f'<span class="{"good" if value else "bad"}">{escape(written)}</span>'
        return f"<code>{escape(written)}</code>" if hint == "code" else escape(written)

    def chart(self, block: Chart) -> str:
        series = [each for each in block.series if each.x]
        if not series:
            return ""
        self.charts += 1
        groups = list(dict.fromkeys(each.group for each in series))
        parts = {group: f"var(--p{i % _PARTS + 1})" for i, group in enumerate(groups)}
        stacked = block.kind == "bars" and len(groups) > 1
        legend = ""
        if block.kind == "lines":
            legend = _legend([(each.name, _stroke(self.colours, series, i, block.overlaid))
                              for i, each in enumerate(series)])
        elif stacked:
            legend = _legend([(group, f'<rect width="14" height="10" y="1" fill="{parts[group]}"/>')
                              for group in groups])
        drawing = charts.svg(block, parts if stacked else self.colours, self.charts)
        return (f'<figure class="chart"><figcaption><b>{escape(block.title)}</b>{escape(block.summary)}</figcaption>'
                f'{legend}<div class="scroll">{drawing}</div></figure>')

    def tiles(self, block: Tiles) -> str:
        rows = "".join(f"<tr><th scope=\"row\">{escape(name)}</th><td>{''.join(map(self.part, shades))}</td></tr>"
                       for name, shades in block.rows)
        return (f'<figure class="tiles"><figcaption><b>{escape(block.title)}</b>{escape(block.summary)}</figcaption>'
                f"{self.swatches(self.colours)}<table>{rows}</table></figure>")

    def swatches(self, names: Container[str]) -> str:
        """The colours of those series, if there are any."""
        items = [(name, f'<rect width="14" height="10" y="1" fill="{colour}"/>')
                 for name, colour in self.colours.items() if name in names]
        return _legend(items) if items else ""

    def calculator(self, block: Calculator) -> str:
        jobs = [{"name": job.name, "colour": self.colours.get(job.name, "var(--quiet)"), "fixed": job.fixed,
                 "warm": job.warm, "step": job.step, "launches": job.launches} for job in block.jobs]
        known = {"batch": block.batch, "jobs": jobs, "quantiles": block.quantiles, "least": block.least}
        data = json.dumps(known, allow_nan=False).replace("<", "\\u003c")
        cached = ('<label class="cache"><input type="checkbox" name="cached"> compiled before (cached)</label>'
                  if any(job.warm is not None for job in block.jobs) else "")
        per_step = f"{round(block.batch, 2):,}".removesuffix(".0")
        return _CALCULATOR.format(steps=block.steps, least=block.least, unit=escape(block.unit), per_step=per_step,
                                  cached=cached, data=data)


def _side(column: Column) -> str:
    return "" if column.hint in _WORDS else ' class="number"'


def _stroke(colours: dict[str, str], series: Sequence[Any], i: int, overlaid: bool) -> str:
    dash = "" if overlaid else f' stroke-dasharray="{" ".join(map(str, charts.dashes(i)))}"'
    colour = colours.get(series[i].name, "var(--reference)")
    return f'<path d="M0 6h34" stroke="{colour}" stroke-width="{5 if overlaid else 2.5}"{dash}/>'


def _legend(items: Sequence[tuple[str, str]]) -> str:
    return '<ul class="legend">' + "".join(
        f'<li><svg width="{34 if "path" in drawing else 14}" height="12" aria-hidden="true">{drawing}</svg>'
        f"{escape(name)}</li>" for name, drawing in items) + "</ul>"


_CALCULATOR = """<div class="job"><form>
<label><span>Steps</span><input type="number" name="steps" min="{least}" step="1" value="{steps}"></label>
<span class="between">or</span>
<label><span>Epochs</span><input type="number" name="epochs" min="0" step="any"></label>
<label><span>of so many {unit} ({per_step} per step)</span><input type="number" name="items" min="0" step="1"></label>
{cached}</form>
<output class="answer" aria-live="polite"></output><ol></ol>
<script type="application/json">{data}</script></div>"""

_PAGE = """<!doctype html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">{frame}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title} · Photofinish</title>
<style>
{style}</style>
<script>
{script}</script>
</head>
<body>
<a class="skip" href="#main">To the verdict</a>
<div class="top"><span class="brand">Photofinish</span><span class="made">{made}</span>
<button class="theme" type="button">Dark</button></div>
{tabs}
<main id="main">
{body}
</main>
</body>
</html>
"""
