"""What several reports read from a Result: who finished, how two compare, what phases took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from photofinish.render.document import Interval, Span, Table, Text
from photofinish.values import Estimate, Result, Standing, Verdict

TASKS = {"train": "training", "infer": "inference", "epoch": "epoch", "fit": "fit"}


def finished(result: Result) -> list[Standing]:
    """The contenders with a measured step, the fastest first."""
    timed = [each for each in result.standings if each.step is not None]
    return sorted(timed, key=lambda each: each.step.value if each.step else 0.0)


def names(result: Result) -> list[str]:
    return [each.contender for each in finished(result)]


def between(result: Result, a: str, b: str) -> Verdict | None:
    """The verdict on a against b, whichever way round it was recorded."""
    for verdict in result.verdicts:
        if (verdict.a, verdict.b) == (a, b):
            return verdict
        if (verdict.a, verdict.b) == (b, a):
            return _reversed(verdict)
    return None


def _reversed(verdict: Verdict) -> Verdict:
    words = {"FASTER": "SLOWER", "SLOWER": "FASTER"}
    def inverse(value: float | None) -> float | None:
        return 1 / value if value else None
    return replace(verdict, a=verdict.b, b=verdict.a, ratio=inverse(verdict.ratio), low=inverse(verdict.high),
                   high=inverse(verdict.low), verdict=words.get(verdict.verdict, verdict.verdict))


def interval(estimate: Estimate | None) -> Interval | None:
    return Interval(estimate.value, estimate.low, estimate.high) if estimate else None


def contender(name: str) -> Span:
    return Span(name, "contender")


def listed(parts: Sequence[str | Span], conjunction: str = "and") -> Text:
    """a; a and b; a, b and c."""
    text: list[str | Span] = []
    for i, part in enumerate(parts):
        text += [] if i == 0 else [f" {conjunction} " if i == len(parts) - 1 else ", "]
        text.append(part)
    return tuple(text)


def phase_seconds(result: Result) -> dict[str, dict[str, float]]:
    """Contender -> phase -> seconds, medians over launches: those without a task and those of this race's.

    "compile" is the cost a launch usually pays; "compile cold" is there where a cold cache was measured apart.
    """
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for phase in result.race.phases:
        base, _, task = phase.name.partition(":")
        if task in ("", result.race.case.task):
            cold = " cold" if phase.cache == "cold" and base in ("compile", "first_step") else ""
            found[phase.contender][base + cold].append(phase.seconds)
    return {name: {phase: median(seconds) for phase, seconds in phases.items()} for name, phases in found.items()}


def memory_bytes(result: Result, device: bool = False) -> dict[str, dict[str, int]]:
    """Contender -> phase -> peak bytes by its end, the most over launches."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for phase in result.race.phases:
        base, _, task = phase.name.partition(":")
        peak = phase.device_memory if device else phase.memory
        if task in ("", result.race.case.task) and peak:
            found[phase.contender][base] = max(found[phase.contender].get(base, 0), peak)
    return dict(found)


def certified(result: Result) -> set[str]:
    return {each.contender for each in result.race.certificates if each.passed}


def without_empty(table: Table) -> Table:
    """The table less the columns that say nothing in any row."""
    kept = [i for i in range(len(table.columns)) if any(row[i] not in (None, "") for row in table.rows)]
    return replace(table, columns=tuple(table.columns[i] for i in kept),
                   rows=tuple(tuple(row[i] for i in kept) for row in table.rows))
