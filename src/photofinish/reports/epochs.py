"""What an epoch through the framework's own input pipeline takes, its phases apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean, median

from photofinish.render.document import Axis, Cell, Chart, Column, Paragraph, Section, Series, Table
from photofinish.reports.reading import contender, interval, names, phase_seconds, without_empty
from photofinish.stats import paired
from photofinish.stats.curves import Curves, curves, excess
from photofinish.values import Epoch, Result

FAR = 5.0  # times the shortest epoch


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
    strip = (Chart("strip", "Every later epoch",
                   "A row for each launch: rows of one contender that do not overlap show how much processes differ.",
                   series, Axis("seconds per epoch", "duration")),) if series else ()
    return Section("epochs", "Epochs", (Paragraph((text,)), _table(result, found, order), _phases(found, order),
                                        _lines(found, order), *strip))


def firsts(passes: Sequence[tuple[str, Result]]) -> Iterator[Table]:
    """What the first epoch takes beside the later ones, of several races over epochs by their models."""
    rows = []
    for model, result in passes:
        found, phases = curves(result.race), phase_seconds(result)
        rows += [(model, contender(name), phases.get(name, {}).get("build"), *_first_and_later(found[name])[:2],
                  interval(paired.interval(logs)))
                 for name in names(result) if len(logs := excess(result.race, name))]
    if rows:
        columns = (Column("Model", "code"), Column("Contender", "contender"), Column("Build", "duration"),
                   Column("First epoch", "duration"), Column("Later epochs", "duration"),
                   Column("First over later", "ratio"))
        yield Table("firsts", columns, tuple(rows), "Medians over launches, each in a fresh process: what is compiled "
                    "at the first call is in the first epoch. The ratio is the geometric mean of launches, with its "
                    "95 % interval.")


def _table(result: Result, found: Curves, order: list[str]) -> Table:
    phases = phase_seconds(result)
    columns = (Column("Contender", "contender"), Column("Load data", "duration"), Column("First epoch", "duration"),
               Column("Later epochs", "duration"), Column("First over later", "ratio"))
    rows = tuple((contender(name), phases.get(name, {}).get("data"), *_first_and_later(found[name])) for name in order)
    return without_empty(Table("epochs", columns, rows, "Medians over launches."))


def _first_and_later(launches: dict[int, tuple[Epoch, ...]]) -> tuple[Cell, ...]:
    first, later = (_median(each.seconds for each in epochs) for epochs in _parted(launches))
    return first, later, first / later if first and later else None


def _phases(found: Curves, order: list[str]) -> Table:
    """A row for the first epoch and one for the later ones: side by side they would be too wide for a terminal."""
    columns = (Column("Contender", "contender"), Column("Epoch"), Column("First batch", "duration"),
               Column("First step", "duration"), Column("Short step", "duration"))
    rows = tuple((contender(name), which, *(_median(of(each) for each in epochs) for of in _PHASES))
                 for name in order for which, epochs in zip(("first", "later"), _parted(found[name])) if epochs)
    return without_empty(Table("epoch-phases", columns, rows, "Of an epoch, medians over launches. Short step: the one "
                                                              "on what does not fill a batch."))


_PHASES: tuple[Callable[[Epoch], float | None], ...] = (
    lambda epoch: epoch.first_batch, lambda epoch: epoch.first_step, lambda epoch: epoch.last_step)


def _parted(launches: dict[int, tuple[Epoch, ...]]) -> tuple[list[Epoch], list[Epoch]]:
    """First epochs and later ones."""
    return ([epochs[0] for epochs in launches.values()],
            [each for epochs in launches.values() for each in epochs[1:]])


def _median(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None


def _lines(found: Curves, order: list[str]) -> Chart:
    series = []
    for name in order:
        launches = list(found[name].values())
        length = min(map(len, launches))
        series.append(Series(name, tuple(float(i + 1) for i in range(length)),
                             tuple(fmean(epochs[i].seconds for epochs in launches) for i in range(length))))
    values = [value for each in series for value in each.y]
    far = max(values) > FAR * min(values)  # a first epoch that compiles would press all others to the ground
    summary = "Means over launches; the axis is logarithmic." if far else "Means over launches."
    return Chart("lines", "Time of each epoch", summary, tuple(series), Axis("epoch", "count"),
                 Axis("time", "duration", log=far))
