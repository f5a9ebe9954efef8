"""Every timed step as it was measured, launch by launch."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from photofinish.render.document import Axis, Chart, Column, Section, Series, Table
from photofinish.reports.reading import contender, far_apart, names
from photofinish.values import Result

_DOTS = 60  # per launch and contender: enough to see the shape, few enough for a small file
_QUANTILES = (0.0, 0.05, 0.5, 0.95, 0.99, 1.0)


def section(result: Result) -> Section:
    steps = step_seconds(result)
    order = [name for name in names(result) if name in steps]
    if not order:
        return Section("distribution", "", ())
    series = tuple(Series(name, thinned(seconds), group=f"launch {launch}")
                   for name in order for launch, seconds in sorted(steps[name].items()))
    most = max(len(seconds) for launches in steps.values() for seconds in launches.values())
    thinning = "" if most <= _DOTS else f" At most {_DOTS} of a launch are drawn, evenly spaced in rank."
    one = "query" if result.race.case.load else "step"
    log = far_apart(seconds for launches in steps.values() for each in launches.values() for seconds in each)
    chart = Chart("strip", f"Every timed {one}",
                  "A row for each launch: rows of one contender that do not overlap show how much processes differ."
                  f"{thinning}{' The axis is logarithmic.' * log}",
                  series, Axis(f"seconds per {one}", "duration", log))
    titles = ("Fastest", "5 %", "Median", "95 %", "99 %", "Slowest")
    columns = (Column("Contender", "contender"), Column("Steps" if one == "step" else "Queries", "count"),
               *(Column(title, "duration") for title in titles), Column("Scatter within", "percent"))
    rows = []
    for name in order:
        values = np.concatenate([np.asarray(each) for each in steps[name].values()])
        within = [float(np.std(np.log(each), ddof=1)) for each in steps[name].values() if len(each) > 1]
        rows.append((contender(name), len(values), *(_quantile(values, share) for share in _QUANTILES),
                     float(np.mean(within)) if within else None))
    return Section("distribution", "Raw distribution", (chart, Table(
        "distribution", columns, tuple(rows), f"Scatter: standard deviation within a launch, of a {one}'s log time."
                                              f"{_periods(result)}")))


def _periods(result: Result) -> str:
    """Whose steps are told as means."""
    found = {block.contender: block.period for block in result.race.blocks
             if block.task == result.race.case.task and block.period > 1}
    return "".join(f" Each step of {name} is the mean of {period}, of which one does what the others do not."
                   for name, period in found.items())


def _quantile(values: np.ndarray, share: float) -> float | None:
    """None where there are too few of them for one to lie beyond it."""
    beyond = min(share, 1 - share)
    return float(np.quantile(values, share)) if not beyond or len(values) * beyond >= 1 - 1e-9 else None


def step_seconds(result: Result) -> dict[str, dict[int, list[float]]]:
    """Contender -> launch -> seconds of each timed step; blocks marked to be repeated are left out."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for block in result.race.blocks:
        if block.task == result.race.case.task and not block.repeated and block.seconds:
            found[block.contender][block.launch] += block.seconds
    return found


def thinned(seconds: list[float], most: int = _DOTS) -> tuple[float, ...]:
    """At most `most` of the values, the extremes always among them, evenly spaced in rank."""
    ordered = sorted(seconds)
    if len(ordered) <= most:
        return tuple(ordered)
    return tuple(ordered[round(i * (len(ordered) - 1) / (most - 1))] for i in range(most))
