"""Where the time before the first useful step goes."""

from __future__ import annotations

from collections.abc import Iterable

from photofinish.metrics import METRICS
from photofinish.render.document import Axis, Chart, Column, Section, Series, Table
from photofinish.reports.reading import contender, names, phase_seconds, without_empty
from photofinish.values import Result

_ORDER = ("start", "import", "build", "weights", "data", "first_batch", "compile (cold)", "compile",
          "first_step (cold)", "first_step", "warm_up", "steady", "last_epoch")
_STACKED = ("start", "import", "build", "weights", "data", "first_batch", "first_step", "warm_up")


def title(phase: str) -> str:
    base, _, cold = phase.partition(" ")
    named = METRICS[base].title if base in METRICS else base.replace("_", " ")
    return named + (", first run" if cold else "")


def in_order(phases: Iterable[str]) -> list[str]:
    """Phases as they come in a launch; those we do not know at the end."""
    found = set(phases)
    return [each for each in _ORDER if each in found] + sorted(found - set(_ORDER))


def section(result: Result) -> Section:
    phases = phase_seconds(result)
    order = [name for name in names(result) if name in phases]
    order += [name for name in result.race.contenders if name in phases and name not in order]
    present = in_order({phase for name in order for phase in phases[name]})
    if not order:
        return Section("phases", "", ())
    stepwise = not present or "warm_up" in present  # whole epochs' steps are not timed one by one
    stacked = [phase for phase in _STACKED if phase in present]
    launched = [name for name in order if not phases[name].keys().isdisjoint(stacked)]  # who failed before has no bar
    series = tuple(Series(name, (phases[name].get(phase, 0.0),), group=title(phase))
                   for name in launched for phase in stacked)
    charts = (Chart("bars", f"From process start to {'steady state' if stepwise else 'the end of the first step'}",
                    "Medians over the launches of the race, which found the compile cache filled.",
                    series, Axis("seconds", "duration")),) if series else ()
    columns = (Column("Contender", "contender"), *(Column(title(phase).capitalize(), "duration") for phase in present))
    rows = tuple((contender(name), *(phases[name].get(phase) for phase in present)) for name in order)
    return Section("phases", "Phases", (*charts, Table("phases", columns, rows, caption=(
        "Medians over launches. The first step includes compiling; compile or trace is the first step less a steady "
        "one. First run: with an empty compile cache, in the rehearsal.")), *_resizes(result)))


def _resizes(result: Result) -> tuple[Table, ...]:
    """What another batch size costs, where that was asked for."""
    columns = (Column("Contender", "contender"), Column("Then batches of", "count"), Column("First step", "duration"),
               Column("Later", "duration"), Column("Compiled anew", "count"), Column("Refused"))
    rows = tuple((contender(each.contender), each.batch, each.seconds[0] if each.seconds else None,
                  each.seconds[-1] if each.seconds else None, each.compilations, each.refused)
                 for each in result.race.resizes if each.task == result.race.case.task)
    caption = "After the first steps, in this order. Compiled anew: traced or compiled, by the framework's own count."
    return (without_empty(Table("resizes", columns, rows, caption)),) if rows else ()
