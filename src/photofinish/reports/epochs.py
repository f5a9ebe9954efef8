"""What an epoch through the framework's own input pipeline takes, its phases apart."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, median

from photofinish.render.document import Axis, Cell, Chart, Column, Paragraph, Section, Series, Table
from photofinish.reports.reading import contender, names, phase_seconds, without_empty
from photofinish.stats.curves import curves
from photofinish.values import Epoch, Result


def section(result: Result) -> Section:
    training = result.race.case.training
    found = {name: launches for name, launches in curves(result.race).items() if launches}
    if training is None or result.race.case.task != "epoch" or not found:
        return Section("epochs", "", ())
    order = list(dict.fromkeys([*(name for name in names(result) if name in found), *found]))
    left = training.samples % result.race.case.batch
    last = f"the last batch of an epoch has {left}" if left else "no batch is left over"
    text = (f"{training.samples:,} samples of {training.data} in batches of {result.race.case.batch}: {last}. The "
            "first epoch stands apart; the verdict is on the later ones, in which contenders take turns.")
    series = tuple(Series(name, tuple(each.seconds for each in epochs if each.number > 1), group=f"launch {launch}")
                   for name in order for launch, epochs in found[name].items() if len(epochs) > 1)
    strip = (Chart("strip", "Every later epoch, a row for each launch",
                   "Rows of one contender that do not overlap show how much processes differ.", series,
                   Axis("seconds per epoch", "duration")),) if series else ()
    return Section("epochs", "Epochs", (Paragraph((text,)), _table(result, found, order), _lines(found, order), *strip))


def _table(result: Result, found: dict[str, dict[int, tuple[Epoch, ...]]], order: list[str]) -> Table:
    phases = phase_seconds(result)
    columns = (Column("Contender", "contender"), Column("Load data", "duration"), Column("First batch", "duration"),
               Column("First step", "duration"), Column("First epoch", "duration"), Column("Later epochs", "duration"),
               Column("First over later", "ratio"), Column("First batch, later", "duration"),
               Column("Short step, first", "duration"), Column("Short step, later", "duration"))
    rows = tuple((contender(name), phases.get(name, {}).get("data"), *_row(list(found[name].values())))
                 for name in order)
    return without_empty(Table("epochs", columns, rows, "Medians over launches. Short step: the one on what does not "
                                                        "fill a batch."))


def _row(launches: list[tuple[Epoch, ...]]) -> tuple[Cell, ...]:
    first = [epochs[0] for epochs in launches]
    later = [each for epochs in launches for each in epochs[1:]]
    begin, rest = _median(each.seconds for each in first), _median(each.seconds for each in later)
    return (_median(each.first_batch for each in first), _median(each.first_step for each in first), begin, rest,
            begin / rest if begin and rest else None, _median(each.first_batch for each in later),
            _median(each.last_step for each in first), _median(each.last_step for each in later))


def _median(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None


def _lines(found: dict[str, dict[int, tuple[Epoch, ...]]], order: list[str]) -> Chart:
    series = []
    for name in order:
        launches = list(found[name].values())
        length = min(map(len, launches))
        series.append(Series(name, tuple(float(i + 1) for i in range(length)),
                             tuple(fmean(epochs[i].seconds for epochs in launches) for i in range(length))))
    return Chart("lines", "Time of each epoch", "Means over launches.", tuple(series), Axis("epoch", "count"),
                 Axis("seconds", "duration"))
