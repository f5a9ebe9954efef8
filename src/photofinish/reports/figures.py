"""What every contender took in every race of a study: time, throughput, memory, energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from photofinish.render.document import Cell, Column, Fold, Table
from photofinish.reports.reading import (
    TASKS,
    contender,
    interval,
    measure,
    memory_bytes,
    peaks_of,
    processes_of,
    timed,
    without_empty,
)
from photofinish.stats.energy import consumption
from photofinish.values import Result, Standing


def of_all(races: Sequence[tuple[str, str, Result]], alone: bool) -> Iterator[Fold]:
    """Of races of one task, each with its model and size; it is named where it is not `alone`."""
    rows = [(model, size, *_row(result, each)) for model, size, result in races for each in timed(result)]
    if not rows:
        return
    case = races[0][2].race.case
    columns = (Column("Model", "code"), Column("Size"), Column("Contender", "contender"),
               Column(f"{measure(case).capitalize()}, 95 % interval", "duration"), Column("Throughput /s", "number"),
               Column("Unit"), Column("Peak while loading", "bytes"), Column("Peak memory", "bytes"),
               Column("On the device", "bytes"), Column("Energy per unit", "energy"))
    whose = processes_of(each.contender for _, _, result in races for each in timed(result))
    yield Fold("Every contender" if alone else f"Every contender, {TASKS[case.task]}", (without_empty(Table(
        "contenders", columns, tuple(rows), f"Peaks are {whose}, {peaks_of(case)}.")),))


def _row(result: Result, standing: Standing) -> tuple[Cell, ...]:
    name, peaks = standing.contender, memory_bytes(result).get(standing.contender, {})
    energy = {each.contender: each.joules for each in consumption(result.race)}
    loading = peaks.get("data") if result.race.case.training is not None else None
    return (contender(name), interval(standing.time), standing.throughput.value if standing.throughput else None,
            result.race.case.unit if standing.throughput else None, loading, standing.memory, standing.device_memory,
            interval(energy.get(name)))
