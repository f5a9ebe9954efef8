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
from photofinish.values import Result

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
        blocks += [_fits(operations.fits(_inferred(study, races))),
                   Fold("Time and memory of each network", (_times(timings),))]
    yield Section("costs", "What accuracy costs", tuple(blocks))


def as_json(study: Study, races: Sequence[Settled]) -> dict[str, Any] | None:
    """The `costs` of `photofinish study --json`."""
    if study.accuracy is None:
        return None
    fits = [{"device": device, "contender": contender, "batch": batch, **asdict(found)}
            for (device, contender, batch), found in operations.fits(_inferred(study, races)).items()]
    return {"source": study.accuracy.source, "fits": fits,
            "networks": [{**asdict(each), "density": each.density} for each in _named(study, races)]}


def _named(study: Study, races: Sequence[Settled]) -> list[Network]:
    """The networks that have an accuracy, the densest first."""
    found = {each.planned.model: _network(study, each.planned) for each in races}
    return sorted((each for each in found.values() if each is not None), key=lambda each: -each.density)


def _network(study: Study, planned: PlannedRace) -> Network | None:
    if study.accuracy is None or planned.model not in study.accuracy.top1:
        return None
    graph = models.find(planned.located).graph(planned.shape, planned.classes)
    return Network(planned.model, graph.parameter_count, graph.macs, study.accuracy.top1[planned.model])


def _raced(study: Study, races: Sequence[Settled]) -> list[tuple[Network, Result]]:
    """The networks that have an accuracy, and a race of their inference."""
    found = [(_network(study, each.planned), each.results) for each in races if each.results]
    return [(network, result) for network, results in found for result in results
            if network is not None and result.race.case.task == "infer"]


def _inferred(study: Study, races: Sequence[Settled]) -> list[tuple[float, Result]]:
    return [(network.macs, result) for network, result in _raced(study, races)]


def _timings(study: Study, races: Sequence[Settled]) -> list[Timing]:
    """Of every contender that is proven and was timed."""
    return [Timing(network, result.race.case.device, result.race.case.batch, standing.contender,
                   standing.time.value / result.race.case.batch, standing.device_memory or standing.memory)
            for network, result in _raced(study, races) for standing in ranked(result) if standing.time]


def _networks(found: Sequence[Network]) -> Table:
    columns = (Column("Model", "code"), Column("Parameters", "count"), Column("MACs", "count"),
               Column("Top-1, %", "number"), Column("Points per million parameters", "number"))
    return Table("density", columns, tuple((each.model, each.parameters, each.macs, 100 * each.top1,
                                            each.density)
                                           for each in found), "Information density: accuracy for its parameters.")


def _fits(found: dict[tuple[str, str, int], operations.Fit]) -> Table:
    columns = (Column("Device"), Column("Contender"), Column("Batch", "count"), Column("Networks", "count"),
               Column("Exponent", "number"), Column("Rank correlation", "number"), Column("Off by", "ratio"))
    rows = tuple((device, Span(contender, "contender"), batch, line.networks,
                  Interval(line.exponent.value, line.exponent.low, line.exponent.high), line.rank, line.factor)
                 for (device, contender, batch), line in found.items())
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
