"""What each contender's work takes in joules, or why that was not measured."""

from __future__ import annotations

from photofinish.render.document import Axis, Chart, Column, Paragraph, Section, Series, Table, Text
from photofinish.reports.reading import contender, interval, names, without_empty
from photofinish.stats.energy import consumption
from photofinish.values import Case, Consumption, Metering, Result

RUNS = {  # where the joules of a task come from
    "epoch": "over each epoch after the first", "fit": "over the training of each epoch, looks at validation samples "
    "left out", "serve": "in a stretch of several seconds under the same load in each launch"}


def section(result: Result) -> Section:
    metering = result.race.metering
    if metering is None:
        return Section("energy", "", ())
    found = {each.contender: each for each in consumption(result.race)}
    order = [found[name] for name in dict.fromkeys([*names(result), *found]) if name in found]
    if not order:
        return Section("energy", "Energy", (Paragraph(missing(metering)),))
    told_of = Paragraph(told(metering, result.race.case.task))
    return Section("energy", "Energy", (told_of, _table(result, order), _chart(result, order)))


def missing(metering: Metering) -> Text:
    """`not measured`, why, and the cure."""
    if not metering.reason:
        unread = f"{metering.sensors} could not be read, or " if metering.sensors else ""
        return (f"Energy: not measured ({unread}no launch ended).",)
    return (f"Energy: not measured (no sensor: {metering.reason}).", *((f" {metering.cure}",) if metering.cure else ()))


def told(metering: Metering, task: str) -> Text:
    """Which sensors, when, and what they saw before the race."""
    domains = ", ".join(f"{domain} {watts:.3g} W" for domain, watts in metering.idle.items())
    runs = RUNS.get(task, "in a run of several seconds in each launch")
    return (f"By {metering.sensors}, {runs}, all others stopped. Before the race the machine drew, "
            f"idle: {domains}. Idle is that power over the time an item takes; the rest is what the work added. What "
            f"other programs did meanwhile is in it, too{_contexts(metering)}.",)


def _contexts(metering: Metering) -> str:
    """A GPU is idle before the race as it is at no time in it."""
    on_gpu = any(domain.startswith("gpu") for domain in metering.idle)
    return ", and what a GPU draws for the contexts that are open on it, also of those that wait" if on_gpu else ""



def _table(result: Result, order: list[Consumption]) -> Table:
    columns = (Column("Contender", "contender"), Column(f"Per {one(result.race.case)}, 95 % interval", "energy"),
               Column("Of it idle", "energy"), Column("Less idle, 95 % interval", "energy"),
               Column("Power (W)", "number"), Column("Run", "duration"), Column("Device busy", "percent"),
               Column("Others' share of the CPU, at most", "percent"), Column("Launches", "count"))
    rows = tuple((contender(each.contender), interval(each.joules), each.idle, interval(each.net), each.watts,
                  each.seconds, each.busy, each.foreign, each.launches) for each in order)
    return without_empty(Table("energy", columns, rows, "Run: what was measured of a launch, in all. Counters may be a "
                               "tenth of a second behind, which matters to a short one."))


def _chart(result: Result, order: list[Consumption]) -> Chart:
    series = tuple(Series(each.contender, (joules,), group=part) for each in order
                   for part, joules in (("idle", each.idle), ("work", max(each.net.value, 0.0))))
    return Chart("bars", f"Energy per {one(result.race.case)}",
                 "What the machine draws anyway in the time it takes, and what the work adds.", series,
                 Axis("energy", "energy"))


def one(case: Case) -> str:
    """One of what throughput counts: image, second of audio."""
    several, *rest = case.unit.split()
    return " ".join([several.removesuffix("s"), *rest])
