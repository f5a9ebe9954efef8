"""Races as tidy pandas DataFrames: one row per timed step, or one per contender."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from photofinish.reports.reading import phase_seconds
from photofinish.values import Estimate, Result

if TYPE_CHECKING:
    import pandas

SAMPLE_COLUMNS = ("race", "model", "task", "contender", "launch", "group", "round", "position", "step", "seconds",
                  "foreign", "repeated")
_TIMED = {"epoch": "seconds_per_epoch", "fit": "seconds_of_training"}


def samples(results: Sequence[Result]) -> pandas.DataFrame:
    """Every step of every block, also of blocks that were repeated: raw seconds, nothing left out.

    `position` is the block's place within its round, `step` the step's within its block, both from 0;
    `foreign` is the share of the machine that others used during the block.
    """
    import pandas

    return pandas.DataFrame(_samples(results), columns=list(SAMPLE_COLUMNS))


def _samples(results: Sequence[Result]) -> Iterator[tuple[Any, ...]]:
    for result in results:
        race = result.race
        for block in race.blocks:
            for step, seconds in enumerate(block.seconds):
                yield (race.id, race.case.model, block.task, block.contender, block.launch, block.group, block.round,
                       block.position, step, seconds, block.foreign, block.repeated)


def standings(results: Sequence[Result]) -> pandas.DataFrame:
    """One row per contender of each race; phases are columns of seconds named phase_<name>."""
    import pandas

    return pandas.DataFrame(list(_standings(results)))


def _standings(results: Sequence[Result]) -> Iterator[dict[str, Any]]:
    for result in results:
        race, phases = result.race, phase_seconds(result)
        for each in result.standings:
            yield {
                "race": race.id, "model": race.case.model, "task": race.case.task, "contender": each.contender,
                "place": each.place, "tie_group": each.tie_group,
                **_three(_TIMED.get(race.case.task, "seconds_per_step"), each.step),
                **_three("throughput", each.throughput),
                "cpu_per_wall": each.cpu_per_wall, "faults_per_step": each.faults_per_step, "memory": each.memory,
                "spread": each.spread, "failure": each.failure.kind if each.failure else None,
                **{f"phase_{name.replace(' (cold)', '_cold')}": seconds
                   for name, seconds in phases.get(each.contender, {}).items()},
            }


def _three(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    bounds = (estimate.low, estimate.high) if estimate and estimate.level else (None, None)
    return {name: estimate.value if estimate else None, f"{name}_low": bounds[0], f"{name}_high": bounds[1]}
