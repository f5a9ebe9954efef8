"""Charts in characters, for formats without ink: terminal and Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from photofinish.render.document import Axis, Chart, Interval, Series
from photofinish.render.quantities import labels, shares, tells, write, write_column

_LEVELS = "▁▂▃▄▅▆▇█"
_FILLS = "█▓▒░▚═·:"
_NARROWEST = 16


def sketch(chart: Chart, width: int = 80) -> list[str]:
    """The chart in lines of at most `width` characters; long names lose their middle."""
    series = tuple(each for each in chart.series if each.x)
    drawn = _SKETCHES[chart.kind](chart, series, width) if series else []
    return [line for row in drawn for line in row.split("\n")]


def _labels(names: Sequence[str], figures: Sequence[str], width: int) -> tuple[list[str], int]:
    """Names as wide as the longest, or as what figures and the narrowest picture leave, and that width. Names that
    would look alike there stand whole in lines of their own."""
    room = width - _NARROWEST - max(map(len, figures), default=0) - 4
    longest = min(max(map(len, names)), room)
    told = labels(names, longest)
    return ["\n".join((*_pieces(told[name], width), " " * longest)) if len(told[name]) > longest
            else told[name].ljust(longest) for name in names], longest


def _pieces(name: str, width: int) -> list[str]:
    return [name[i:i + width] for i in range(0, len(name), width)]


def _scale(low: float, high: float, width: int, log: bool = False) -> Callable[[float], int]:
    """Maps [low, high] to character positions 0 .. width - 1."""
    move = math.log if log and low > 0 else float
    start, span = move(low), (move(high) - move(low)) or 1.0
    return lambda value: min(width - 1, max(0, round((width - 1) * (move(value) - start) / span)))


def _intervals(chart: Chart, series: tuple[Series, ...], width: int) -> list[str]:
    cells = [Interval(each.x[0], each.low[0], each.high[0]) if each.low else each.x[0] for each in series]
    figures = write_column(cells, chart.x.hint)
    named, wide = _labels([each.name for each in series], figures, width)
    room = max(_NARROWEST, width - wide - max(map(len, figures)) - 4)
    told = [(each.low[0], each.high[0]) if each.low and tells(each.low[0], each.high[0]) else () for each in series]
    at = _scale(*_ends((*each.x, *bounds, *chart.marks) for each, bounds in zip(series, told)), room)
    lines = []
    for label, each, bounds, figure in zip(named, series, told, figures):
        row = [" "] * room
        for mark in chart.marks:
            row[at(mark)] = "┊"
        if bounds:
            low, high = map(at, bounds)
            row[low:high + 1] = "├" + "─" * (high - low - 1) + "┤" if high > low else "─"
        row[at(each.x[0])] = "●"
        lines.append(f"{label}  {''.join(row)}  {figure}".rstrip())
    return lines


def _ends(values: Iterable[Sequence[float]]) -> tuple[float, float]:
    everything = [value for each in values for value in each]
    return min(everything), max(everything)


def _bars(chart: Chart, series: tuple[Series, ...], width: int) -> list[str]:
    names = list(dict.fromkeys(each.name for each in series))
    groups = list(dict.fromkeys(each.group for each in series))
    totals = [sum(each.x[0] for each in series if each.name == name) for name in names]
    figures = write_column(totals, chart.x.hint)
    named, wide = _labels(names, figures, width)
    room = max(_NARROWEST, width - wide - max(map(len, figures)) - 4)
    lines = []
    for name, label, total, figure in zip(names, named, totals, figures):
        parts = [each for each in series if each.name == name]
        lengths = shares([each.x[0] for each in parts], max(1, round(room * total / (max(totals) or 1.0))))
        bar = "".join(_FILLS[groups.index(each.group) % len(_FILLS)] * length for each, length in zip(parts, lengths))
        lines.append(f"{label}  {bar}  {figure}")
    if len(groups) > 1:
        lines += _wrapped([f"{_FILLS[i % len(_FILLS)]} {group}" for i, group in enumerate(groups)], width)
    return lines


def _wrapped(words: list[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        joined = f"{lines[-1]}   {word}".strip()
        lines = [*lines[:-1], joined] if len(joined) <= width else [*lines, word]
    return lines


def _lines(chart: Chart, series: tuple[Series, ...], width: int) -> list[str]:
    ends = [f"{write(each.y[0], chart.y.hint)} → {write(each.y[-1], chart.y.hint)}" for each in series]
    named, wide = _labels([each.name for each in series], ends, width)
    room = max(_NARROWEST, min(48, width - wide - max(map(len, ends)) - 4))
    values = [value for each in series for value in each.y if math.isfinite(value)]
    level = _scale(min(values), max(values), len(_LEVELS), chart.y.log) if values else lambda value: 0
    lines = []
    left, right = min(each.x[0] for each in series), max(each.x[-1] for each in series)
    at = _scale(left, right, room, chart.x.log)
    for label, each, end in zip(named, series, ends):
        marks = [_LEVELS[level(value)] if math.isfinite(value) else "×" for value in each.y]  # noqa: RUF001
        drawn = list(zip(map(at, each.x), marks))
        places = {**dict(reversed(drawn)), **dict(drawn[-1:])}  # of several at one place the first, but the line's end
        if chart.x.hint != "date":  # nothing is known of the days between
            places = _filled(places)
        lines.append(f"{label}  {''.join(places.get(i, ' ') for i in range(room))}  {end}")
    lines.append(f"{' ' * wide}  {_span(chart.x, left, right, room)}")
    return lines


def _filled(places: Mapping[int, str]) -> dict[int, str]:
    """Marks at all positions from the first to the last: between two points stands that of the nearer."""
    return {i: places[min(places, key=lambda place: abs(place - i))] for i in range(min(places), max(places) + 1)}


def _strip(chart: Chart, series: tuple[Series, ...], width: int) -> list[str]:
    pooled: dict[str, list[float]] = {}
    for each in series:
        pooled.setdefault(each.name, []).extend(each.x)
    named, wide = _labels(list(pooled), (), width)
    room = max(_NARROWEST, min(60, width - wide - 2))
    everything = [value for values in pooled.values() for value in values]
    low, high = min(everything), max(everything)
    at = _scale(low, high, room, chart.x.log)
    lines = []
    for label, values in zip(named, pooled.values()):
        counts = [0] * room
        for value in values:
            counts[at(value)] += 1
        row = "".join(_LEVELS[round((len(_LEVELS) - 1) * count / max(counts))] if count else " " for count in counts)
        lines.append(f"{label}  {row}".rstrip())
    return [*lines, f"{' ' * wide}  {_span(chart.x, low, high, room)}"]


def _span(axis: Axis, low: float, high: float, width: int) -> str:
    hint = "number" if axis.hint == "count" and low % 1 + high % 1 else axis.hint  # 0.5 is not none
    left, right = write(low, hint), write(high, hint)
    middle = f" {axis.title} " if len(left) + len(right) + len(axis.title) + 4 <= width else " "
    return f"{left}{middle:─^{max(1, width - len(left) - len(right))}}{right}"


_SKETCHES: dict[str, Callable[[Chart, tuple[Series, ...], int], list[str]]] = {
    "intervals": _intervals, "bars": _bars, "lines": _lines, "strip": _strip,
}
