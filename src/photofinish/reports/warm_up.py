"""How long each contender takes to reach its steady speed."""

from __future__ import annotations

from collections import Counter
from statistics import median

from photofinish.render.document import Axis, Chart, Column, Section, Series, Table
from photofinish.reports.reading import contender, far_apart, names
from photofinish.values import Result, WarmUp


def section(result: Result) -> Section:
    found = {name: [each for each in result.race.warm_ups
                    if each.contender == name and each.task == result.race.case.task and each.seconds]
             for name in names(result)}
    found = {name: curves for name, curves in found.items() if curves}
    if not found:
        return Section("warm-up", "", ())
    series = tuple(_curve(name, curves) for name, curves in found.items())
    log = far_apart(each.y[-1] for each in series)
    chart = Chart("lines", "Time of each step from the second on",
                  f"Medians over {_runs(result)}, as far as all of them went."
                  f"{' The axis of times is logarithmic.' * log}",
                  series, Axis("step", "count"), Axis("seconds per step", "duration", log))
    columns = (Column("Contender", "contender"), Column("Found"), Column("Steps to steady state", "count"),
               Column("Second step", "duration"), Column("Last step", "duration"))
    rows = tuple((contender(name), _kinds(curves), median(each.steps for each in curves),
                  median(each.seconds[0] for each in curves), median(each.seconds[-1] for each in curves))
                 for name, curves in found.items())
    return Section("warm-up", "Warm-up", (chart, Table("warm_up", columns, rows,
                                                         f"Medians over {_runs(result)}, each to its own last step. "
                                                         "The curves end where the shortest does.")))


def _runs(result: Result) -> str:
    """Whose warm-ups these are: that of the rehearsal is number 0."""
    return "the rehearsal and the launches" if any(not each.launch for each in result.race.warm_ups) else "launches"


def _curve(name: str, curves: list[WarmUp]) -> Series:
    length = min(len(each.seconds) for each in curves)
    return Series(name, tuple(float(i + 2) for i in range(length)),
                  tuple(median(each.seconds[i] for each in curves) for i in range(length)))


def _kinds(curves: list[WarmUp]) -> str:
    counts = Counter(each.kind for each in curves)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{kind} in {count} of {len(curves)}" for kind, count in counts.most_common())
