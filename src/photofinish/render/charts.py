"""Charts as SVG whose colours are CSS variables: one drawing serves light and dark."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import altair
import vl_convert
from altair.utils.schemapi import debug_mode

from photofinish.render.document import Axis, Chart, Series
from photofinish.render.quantities import DASH, UNTOLD, duration, labels, ratio_with_interval, tells, write_column

WIDTH = 880
_ROW = 30
_LONGEST = 36
_LETTER = 8.2
_NARROWEST = 240  # of a picture beside names, whatever their length
_FEW = 12
_TICKS = 8
_PADDING = {"left": 4, "top": 6, "right": 14, "bottom": 4}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
# Lines differ in pattern as well as in colour.
DASHES = ((1, 0), (9, 3), (3, 3), (9, 3, 3, 3), (14, 4), (1, 3), (6, 2, 1, 2), (14, 3, 2, 3))
_TIMES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36000.0, 86400.0, 864000.0)
_FINER = tuple(sorted({each * times for each in _TIMES for times in (1, 2, 5)}))
_UNITS: dict[str, tuple[tuple[float, str], ...]] = {
    "duration": ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((2.0**30, "GiB"), (2.0**20, "MiB"), (1.0, "B")),
    "energy": ((1e3, "kJ"), (1.0, "J"), (1e-3, "mJ"), (1e-6, "µJ")),
}

Row = dict[str, Any]


def dashes(i: int) -> tuple[int, ...]:
    """The pattern of the i-th line: where colours begin again, patterns do so one further."""
    return DASHES[(i + i // len(DASHES)) % len(DASHES)]


def svg(chart: Chart, colours: Mapping[str, str], number: int = 0) -> str:
    """An <svg> element. `colours` maps names (of series or groups) to CSS colours; `number` keeps ids apart."""
    with debug_mode(False):  # Altair's validation of every part takes longer than all the rest
        return _tidied(vl_convert.vegalite_to_svg(_styled(chart, colours).to_json(validate=False)), chart, number)


def _styled(chart: Chart, colours: Mapping[str, str]) -> altair.LayerChart:
    known = [each for each in chart.series if each.x]
    told = labels((each.name for each in known), _LONGEST)
    series = tuple(replace(each, name=told[each.name]) for each in known)
    drawn = _DRAWN[chart.kind](chart, series, {told.get(name, name): colour for name, colour in colours.items()})
    return drawn.configure(background="transparent", font=_FONT, aria=False, padding=_PADDING,
                           view=altair.ViewConfig(stroke="transparent")).configure_axis(
        labelColor="var(--quiet)", titleColor="var(--quiet)", titleFontWeight="normal", gridColor="var(--line)",
        domainColor="var(--line)", tickColor="var(--line)", labelFontSize=12, titleFontSize=12, titlePadding=8)


def _tidied(text: str, chart: Chart, number: int) -> str:
    """Inline SVG needs no namespaces; ids of clips must not meet those of another chart; it has a text for all."""
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'(id="|url\(#)(clip\d+)', rf"\g<1>chart{number}-\2", text)
    text = re.sub(r' (aria-\w+|role|class|pointer-events)="[^"]*"', "", text)
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag.group()), text)  # only coordinates
    label = f"{chart.title}. {chart.summary}".replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _unit(axis: Axis, values: Sequence[float]) -> tuple[float, str]:
    """The size of the axis' unit and its title with the unit named."""
    least = 2 if axis.hint == "duration" else 1
    units = _UNITS.get(axis.hint, ())
    most = max(filter(math.isfinite, values), default=0.0)
    size, name = next(((size, name) for size, name in units if most >= least * size), (1.0, ""))
    title = re.sub(r"^seconds\b", "time", axis.title) if axis.hint == "duration" else axis.title
    return size, f"{title} ({name})" if name else title


def _data(rows: list[Row]) -> altair.Data:
    """A line breaks where a figure is not finite: JSON has no word for that."""
    return altair.Data(values=[{name: None if isinstance(value, float) and not math.isfinite(value) else value
                                for name, value in row.items()} for row in rows])


def _colour(field: str, names: Sequence[str], colours: Mapping[str, str]) -> altair.Color:
    names = list(dict.fromkeys(names))
    scale = altair.Scale(domain=names, range=[colours.get(name, "var(--quiet)") for name in names])
    return altair.Color(f"{field}:N", scale=scale, legend=None)


def _extent(names: Sequence[str]) -> float:
    """Pixels for the longest name in any reader's font, which may be wider than the one measured here."""
    return _LETTER * max(map(len, names))


def _room(names: Sequence[str], beside: float) -> float:
    return max(_NARROWEST, WIDTH - _extent(names) - beside)


def _names_axis(names: Sequence[str], **extra: Any) -> altair.Y:
    room = _extent(names)
    axis = altair.Axis(title=None, ticks=False, domain=False, labelPadding=10, labelColor="var(--ink)",
                       labelFontSize=13, minExtent=room, labelLimit=room)
    return altair.Y("name:N", sort=list(dict.fromkeys(names)), axis=axis, **extra)


def _intervals(chart: Chart, series: tuple[Series, ...], colours: Mapping[str, str]) -> altair.LayerChart:
    ends = {each.name: (each.low[0], each.high[0]) if each.low and tells(each.low[0], each.high[0])
            else (each.x[0], each.x[0]) for each in series}  # what tells nothing would leave the others no room
    rows: list[Row] = [{"name": each.name, "x": each.x[0], "low": ends[each.name][0], "high": ends[each.name][1],
                        "text": _labelled(each)} for each in series]
    low, high = min(row["low"] for row in rows), max(row["high"] for row in rows)
    room = (high - low or 1.0) * 0.06
    names = [each.name for each in series]
    width = _room(names, 150)
    left, right = min(low, *chart.marks) - room, max(high, *chart.marks) + room
    scale = altair.Scale(zero=False, nice=False, domain=[left, right])
    axis = altair.Axis(title=chart.x.title, format=_apart(right - left), tickCount=_TICKS)
    x = altair.X("x:Q", scale=scale, axis=axis)
    base = altair.Chart(_data(rows), width=width, height=_ROW * len(rows)).encode(
        y=_names_axis(names), color=_colour("name", names, colours))
    layers: list[Any] = []
    for mark in chart.marks:
        if chart.band:
            band = {"from": mark / (1 + chart.band), "to": mark * (1 + chart.band)}
            layers.append(altair.Chart(_data([band])).mark_rect(color="var(--band)", clip=True).encode(
                x=altair.X("from:Q", scale=scale), x2="to:Q"))
        layers.append(altair.Chart(_data([{"x": mark}])).mark_rule(color="var(--quiet)", strokeDash=[2, 3]).encode(x=x))
    layers += [base.mark_rule(strokeWidth=5, opacity=0.4, strokeCap="round").encode(
                   x=altair.X("low:Q", scale=scale), x2="high:Q"),
               base.mark_point(filled=True, size=90, opacity=1).encode(x=x),
               altair.Chart(_data(rows)).mark_text(align="left", dx=10, fontSize=12, color="var(--ink)").encode(
                   x=altair.value(width), y=_names_axis(names), text="text:N")]
    return altair.layer(*layers)


def _apart(width: float) -> str:
    """The format in which no two ticks of an axis so wide read alike: they are a power of ten of it apart, or more."""
    return f".{max(0, -math.floor(math.log10(width / _TICKS)))}~f"


def _labelled(series: Series) -> str:
    if not series.low:
        return f"{series.x[0]:.4g}"
    value, low, high = ratio_with_interval(series.x[0], series.low[0], series.high[0])
    return f"{value}  ({low}{DASH}{high})" if tells(series.low[0], series.high[0]) else f"{value}  ({UNTOLD})"


def _lines(chart: Chart, series: tuple[Series, ...], colours: Mapping[str, str]) -> altair.LayerChart:
    """Lines of what should agree are drawn ever thinner, so that all show."""
    nested = chart.overlaid
    values = [value for each in series for value in each.y]
    size, title = (1.0, chart.y.title) if chart.y.log else _unit(chart.y, values)
    days = chart.x.hint == "date"
    x = _days(chart.x) if days else _numbers(chart.x, series)
    drawn = {"axis": _value_axis(chart.y, values, title),
             "scale": altair.Scale(type="log" if chart.y.log else "linear", zero=not (chart.y.log or nested))}
    y = altair.Y("y:Q", **drawn)
    place = _milliseconds if days else float
    layers: list[Any] = [altair.Chart(_data([{"x": mark}])).mark_rule(color="var(--quiet)", strokeDash=[2, 3]).encode(
        x=x) for mark in chart.marks]
    for each in series:
        rows = [{"x": place(a), "y": b / size, "low": low / size, "high": high / size}
                for a, b, low, high in zip(each.x, each.y, each.low, each.high)]
        ends = altair.Chart(_data(rows)).encode(x=x, y=altair.Y("low:Q", **drawn), y2="high:Q",
                                                color=altair.value(colours.get(each.name, "var(--reference)")))
        if rows and days:  # nothing is known of the days between
            layers += [ends.mark_rule(strokeWidth=5, opacity=0.4, strokeCap="round"),
                       ends.encode(y=y, y2=altair.Undefined).mark_point(filled=True, size=70, opacity=1)]
        elif rows:
            layers.append(ends.mark_area(opacity=0.18))
    for i, each in enumerate(series):
        rows = [{"x": place(a), "y": b / size} for a, b in zip(each.x, each.y)]
        width = 2 + 1.6 * (len(series) - 1 - i) if nested else 2.2
        dash = [1, 0] if nested else list(dashes(i))
        colour = colours.get(each.name, "var(--reference)")
        dots = each.name in colours and len(rows) <= _FEW and altair.OverlayMarkDef(filled=True, size=45, color=colour)
        layers.append(altair.Chart(_data(rows), width=WIDTH - 70, height=320).mark_line(
            point=dots, color=colour, strokeWidth=width, strokeDash=dash, strokeCap="butt",
            strokeJoin="round").encode(x=x, y=y))
    return altair.layer(*layers)


def _numbers(axis: Axis, series: tuple[Series, ...]) -> altair.X:
    ticks: dict[str, Any] = {}
    low, high = (end(x for each in series for x in each.x) for end in (min, max))
    if axis.log:  # 0.1 is not 100m: of what, the title says
        ticks = {"values": _ticks(series), "labelExpr": "format(datum.value, datum.value < 1 ? '~g' : '~s')"}
    elif axis.hint == "count":
        ticks = {"format": "d"}
        if high - low < _TICKS:  # Vega would mark halves between
            ticks["values"] = list(range(math.ceil(low), math.floor(high) + 1))
    scale = altair.Scale(type="log" if axis.log else "linear", nice=False, zero=False)
    return altair.X("x:Q", scale=scale, axis=altair.Axis(title=axis.title, grid=False, tickCount=_TICKS, **ticks))


def _days(axis: Axis) -> altair.X:
    return altair.X("x:T", axis=altair.Axis(title=axis.title, format="%Y-%m", grid=False, tickCount=8))


def _milliseconds(day: float) -> float:
    """Since 1970, as the chart's own calendar counts."""
    return (day - date(1970, 1, 1).toordinal()) * 86_400_000.0


def _ticks(series: tuple[Series, ...]) -> list[float]:
    """Where there is a point, if they are few; else at powers of ten, or at every few points where
    these are fewer than two."""
    places = sorted({x for each in series for x in each.x})
    tens = [10.0**i for i in range(-9, 13) if places[0] <= 10.0**i <= places[-1]]
    return places if len(places) <= _FEW else tens if len(tens) > 1 else places[::math.ceil(len(places) / _TICKS)]


def _value_axis(axis: Axis, values: Sequence[float], title: str, count: int = 6) -> altair.Axis:
    if not (axis.log and axis.hint == "duration"):
        written = {"format": "~%"} if axis.hint == "accuracy" else {}
        return altair.Axis(title=title, tickCount=count, **written)
    known = [value for value in values if math.isfinite(value)]
    low, high = min(known, default=1.0), max(known, default=1.0)
    coarse, fine = ([each for each in times if low / 3 <= each <= high * 3] for times in (_TIMES, _FINER))
    ticks = coarse if len(coarse) > 2 else fine
    label = "".join(f"datum.value == {each!r} ? '{_round(each)}' : " for each in ticks) + "''"
    return altair.Axis(title=title, values=ticks, labelExpr=label)


def _round(seconds: float) -> str:
    return re.sub(r"\.0+ ", " ", duration(seconds))


def _strip(chart: Chart, series: tuple[Series, ...], colours: Mapping[str, str]) -> altair.LayerChart:
    values = [value for each in series for value in each.x]
    size, title = (1.0, chart.x.title) if chart.x.log else _unit(chart.x, values)
    names = [each.name for each in series]
    rows = [{"name": each.name, "group": each.group, "x": value / size} for each in series for value in each.x]
    middles = [{"name": each.name, "group": each.group, "x": sorted(each.x)[len(each.x) // 2] / size}
               for each in series]
    groups = list(dict.fromkeys(each.group for each in series))
    x = altair.X("x:Q", scale=altair.Scale(type="log" if chart.x.log else "linear", zero=False),
                 axis=_value_axis(chart.x, values, title, count=8))
    offset = altair.YOffset("group:N", sort=groups)
    height = max(_ROW, 10 * len(groups) + 8) * len(set(names))
    dots = altair.Chart(_data(rows), width=_room(names, 20), height=height).mark_circle(
        size=16, opacity=0.45, clip=True).encode(
        x=x, y=_names_axis(names), yOffset=offset, color=_colour("name", names, colours))
    ticks = altair.Chart(_data(middles)).mark_tick(color="var(--ink)", thickness=2, height=9).encode(
        x=x, y=_names_axis(names), yOffset=offset)
    return altair.layer(dots, ticks)


def _bars(chart: Chart, series: tuple[Series, ...], colours: Mapping[str, str]) -> altair.LayerChart:
    names = list(dict.fromkeys(each.name for each in series))
    groups = list(dict.fromkeys(each.group for each in series))
    totals = {name: sum(each.x[0] for each in series if each.name == name) for name in names}
    size, title = _unit(chart.x, list(totals.values()))
    rows = [{"name": each.name, "group": each.group, "x": each.x[0] / size, "order": groups.index(each.group)}
            for each in series]
    field, keys = ("group", groups) if len(groups) > 1 else ("name", names)
    x = altair.X("x:Q", axis=altair.Axis(title=title, tickCount=8), stack="zero")
    base = altair.Chart(_data(rows), width=_room(names, 80), height=_ROW * len(names))
    bars = base.mark_bar(size=17).encode(
        x=x, y=_names_axis(names), color=_colour(field, keys, colours), order="order:Q")
    totalled = [{"name": name, "x": total / size, "text": text}
                for (name, total), text in zip(totals.items(), write_column(list(totals.values()), chart.x.hint))]
    text = altair.Chart(_data(totalled)).mark_text(align="left", dx=6, fontSize=12, color="var(--ink)").encode(
        x="x:Q", y=_names_axis(names), text="text:N")
    return altair.layer(bars, text)


_DRAWN: dict[str, Callable[[Chart, tuple[Series, ...], Mapping[str, str]], altair.LayerChart]] = {
    "intervals": _intervals, "lines": _lines, "strip": _strip, "bars": _bars,
}
