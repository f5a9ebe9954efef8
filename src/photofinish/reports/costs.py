"""What accuracy costs: published accuracies of a study's networks beside their parameters, operations, time and memory,
and whether the operations tell the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from photofinish import models
from photofinish.render.document import Block, Column, Fold, Interval, Note, Section, Span, Table
from photofinish.reports.reading import ranked
from photofinish.stats import operations
from photofinish.study import PlannedRace, Settled, Study

MILLION = 1e6


@dataclass(frozen=True)
class Network:
    """`density` is the accuracy in percent for a million parameters."""

    model: str
    parameters: int
    macs: int
    top1: float

    @property
    def density(self) -> float:
        return 100 * self.top1 / (self.parameters / MILLION)


@dataclass(frozen=True)
class Timing:
    """Of a network's inference: seconds for a sample, and peak bytes."""

    network: Network
    device: str
    batch: int
    contender: str
    seconds: float
    memory: int | None

    @property
    def setting(self) -> tuple[str, str, int]:
        return self.device, self.contender, self.batch


def section(study: Study, races: Sequence[Settled]) -> Iterator[Section]:
    """None for a study without accuracies."""
    if study.accuracy is None:
        return
    timings = _timings(study, races)
    blocks: list[Block] = [Note((f"Accuracies are published, not measured here: {study.accuracy.source}.",)),
                           _networks(_named(study, races))]
    if timings:
        blocks += [_fits(timings), Fold("Time and memory of each network", (_times(timings),))]
    yield Section("costs", "What accuracy costs", tuple(blocks))


def as_json(study: Study, races: Sequence[Settled]) -> dict[str, Any] | None:
    """The `costs` of `photofinish study --json`."""
    if study.accuracy is None:
        return None
    timings = _timings(study, races)
    fits = [{"device": device, "contender": contender, "batch": batch, **asdict(found)}
            for (device, contender, batch), found in fits_of(timings).items()]
    return {"source": study.accuracy.source, "fits": fits,
            "networks": [{**asdict(each), "density": each.density} for each in _named(study, races)]}


def fits_of(timings: Sequence[Timing]) -> dict[tuple[str, str, int], operations.Fit]:
    """Operations against time by device, contender and batch, where there are networks enough."""
    found = {}
    for setting in dict.fromkeys(each.setting for each in timings):
        alike = [each for each in timings if each.setting == setting]
        line = operations.fit([each.network.macs for each in alike], [each.seconds for each in alike])
        if line is not None:
            found[setting] = line
    return found


def _named(study: Study, races: Sequence[Settled]) -> list[Network]:
    """The networks that have an accuracy, the densest first."""
    found = {each.planned.model: _network(study, each.planned) for each in races}
    return sorted((each for each in found.values() if each is not None), key=lambda each: -each.density)


def _network(study: Study, planned: PlannedRace) -> Network | None:
    if study.accuracy is None or planned.model not in study.accuracy.top1:
        return None
    graph = models.find(planned.model).graph(planned.shape, planned.classes)
    return Network(planned.model, graph.parameter_count, graph.macs, study.accuracy.top1[planned.model])


def _timings(study: Study, races: Sequence[Settled]) -> list[Timing]:
    """Of every contender that is proven and was timed."""
    found = []
    for each in races:
        results = [result for result in each.results if result.race.case.task == "infer"]
        network = _network(study, each.planned) if results else None
        for result in results if network else ():
            case = result.race.case
            found += [Timing(network, case.device, case.batch, standing.contender, standing.time.value / case.batch,
                             standing.memory) for standing in ranked(result) if network and standing.time]
    return found


def _networks(found: Sequence[Network]) -> Table:
    columns = (Column("Model", "code"), Column("Parameters", "count"), Column("MACs", "count"),
               Column("Top-1, %", "number"), Column("Points per million parameters", "number"))
    return Table("density", columns, tuple((each.model, each.parameters, each.macs, 100 * each.top1,
                                            each.density)
                                           for each in found), "Information density: accuracy for its parameters.")


def _fits(timings: Sequence[Timing]) -> Table:
    columns = (Column("Device"), Column("Contender"), Column("Batch", "count"), Column("Networks", "count"),
               Column("Exponent", "number"), Column("Rank correlation", "number"), Column("Off by", "ratio"))
    rows = tuple((device, Span(contender, "contender"), batch, line.networks,
                  Interval(line.exponent.value, line.exponent.low, line.exponent.high), line.rank, line.factor)
                 for (device, contender, batch), line in fits_of(timings).items())
    return Table("operations", columns, rows, "Time as a power of operations (1: in proportion), and how far that is "
                 "off, typically, for a network that is left out.")


def _times(timings: Sequence[Timing]) -> Table:
    columns = (Column("Model", "code"), Column("Device"), Column("Batch", "count"), Column("Contender"),
               Column("Top-1, %", "number"), Column("Time per sample", "duration"), Column("Memory", "bytes"),
               Column("Beaten by"))
    return Table("costs", columns, tuple(
        (each.network.model, each.device, each.batch, Span(each.contender, "contender"),
         100 * each.network.top1, each.seconds, each.memory, _beaten(each, timings)) for each in timings),
        "Beaten by: a network that is more accurate and takes less time in the same setting.")


def _beaten(timing: Timing, timings: Sequence[Timing]) -> str | None:
    return next((each.network.model for each in timings if each.setting == timing.setting
                 and each.network.top1 > timing.network.top1 and each.seconds < timing.seconds), None)
