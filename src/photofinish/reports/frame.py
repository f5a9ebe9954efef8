"""Races as tidy pandas DataFrames: one row per timed step or epoch, or one per contender."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from photofinish.reports.reading import phase_seconds
from photofinish.stats.batches import SHARES, Point, curves
from photofinish.stats.communication import Model
from photofinish.stats.energy import consumption
from photofinish.values import Estimate, Result

if TYPE_CHECKING:
    import pandas

SAMPLE_COLUMNS = ("race", "model", "task", "contender", "launch", "group", "round", "position", "step", "seconds",
                  "foreign", "repeated")
EPOCH_COLUMNS = ("race", "model", "task", "contender", "launch", "group", "epoch", "position", "seconds", "foreign",
                 "steps", "first_batch", "waited", "first_step", "last_step", "loss", "accuracy",
                 "validation_seconds", "validation_loss", "validation_accuracy", "cpu", "faults")
_TIMED = {"epoch": "seconds_per_epoch", "fit": "seconds_of_training", "serve": "latency"}


def samples(results: Sequence[Result]) -> pandas.DataFrame:
    """Every step of every block, also of blocks that were repeated: raw seconds, nothing left out; of steps that come
    in periods the mean of each. Of whole trainings, which race alone, every epoch.

    `position` is the place within the round, `step` that of the step within its block, both from 0; `epoch` counts
    from 1; `foreign` is the share of the machine that others used meanwhile.
    """
    import pandas

    if any(result.race.case.training for result in results):
        return pandas.DataFrame(_epochs(results), columns=list(EPOCH_COLUMNS))
    return pandas.DataFrame(_samples(results), columns=list(SAMPLE_COLUMNS))


def _samples(results: Sequence[Result]) -> Iterator[tuple[Any, ...]]:
    for result in results:
        race = result.race
        for block in race.blocks:
            for step, seconds in enumerate(block.seconds):
                yield (race.id, race.case.model, block.task, block.contender, block.launch, block.group, block.round,
                       block.position, step, seconds, block.foreign, block.repeated)


def _epochs(results: Sequence[Result]) -> Iterator[tuple[Any, ...]]:
    for result in results:
        of = {"race": result.race.id, "model": result.race.case.model, "task": result.race.case.task}
        for each in result.race.epochs:
            known = {**vars(each), **of, "epoch": each.number}
            yield tuple(known[name] for name in EPOCH_COLUMNS)


def standings(results: Sequence[Result]) -> pandas.DataFrame:
    """One row per contender of each race; phases are columns of seconds named phase_<name>."""
    import pandas

    return pandas.DataFrame(list(_standings(results)))


def _standings(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    for result in results:
        race, phases = result.race, phase_seconds(result)
        energy = {each.contender: each for each in consumption(race)}
        for each in result.standings:
            yield {
                "race": race.id, "model": race.case.model, "task": race.case.task, "contender": each.contender,
                "place": each.place, "tie_group": each.tie_group,
                **_three(_TIMED.get(race.case.task, "seconds_per_step"), each.time),
                **_three("throughput", each.throughput),
                "cpu_per_wall": each.cpu_per_wall, "faults_per_step": each.faults_per_step, "memory": each.memory,
                "device_memory": each.device_memory,
                "spread": each.spread, "failure": each.failure.kind if each.failure else None,
                **_three("joules", energy[each.contender].joules if each.contender in energy else None),
                **_three("net_joules", energy[each.contender].net if each.contender in energy else None),
                **{f"phase_{name.replace(' (cold)', '_cold')}": seconds
                   for name, seconds in phases.get(each.contender, {}).items()},
            }


def batches(results: Sequence[Result], bound: float | None, share: float) -> pandas.DataFrame:
    """One row per contender and batch of a sweep."""
    import pandas

    return pandas.DataFrame([_point(curve.contender, point) for curve in curves(results, bound, share)
                             for point in curve.points])


def links(results: Sequence[Result]) -> pandas.DataFrame:
    """One row per contender and link (its rate in bits a second) of a sweep over links; `held_out` is what the other
    links predict."""
    import pandas

    return pandas.DataFrame([{"contender": each.contender, "rate": each.rate, **_three("seconds_per_step", each.step),
                              **_three("held_out", each.held_out), "inside": each.inside}
                             for each in Model([result.race for result in results]).measured()])


def _point(name: str, point: Point) -> dict[str, Any]:
    joules = {} if point.energy is None else {"joules": point.energy.joules, "net_joules": point.energy.net}
    figures = {"seconds_per_step": point.step, "seconds_per_sample": point.sample, "throughput": point.throughput,
               "gain": point.gain, **{f"p{100 * share:g}": point.latencies.get(share) for share in SHARES},
               **{key: joules.get(key) for key in ("joules", "net_joules")}}
    three = [_three(key, estimate) for key, estimate in figures.items()]
    return {"contender": name, "batch": point.batch, **{key: value for each in three for key, value in each.items()},
            "memory": point.memory, "within": point.within.word if point.within else None,
            "failure": point.failure.kind if point.failure else None}


def _three(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    bounds = (estimate.low, estimate.high) if estimate and estimate.level else (None, None)
    return {name: estimate.value if estimate else None, f"{name}_low": bounds[0], f"{name}_high": bounds[1]}
