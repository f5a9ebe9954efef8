"""What several reports read from a Result: who finished, how two compare, what phases took."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from photofinish.referee.tolerance import APPROXIMATED
from photofinish.render.document import Interval, Paragraph, Span, Table, Text
from photofinish.render.quantities import counted, write
from photofinish.stats.interaction import interaction
from photofinish.stats.standings import REHEARSAL, WRONG, no_certificate
from photofinish.values import Case, Certificate, Contender, Estimate, Load, Result, Standing, Verdict

TASKS = {"train": "training", "infer": "inference", "epoch": "epochs", "fit": "whole training",
         "serve": "queries under load"}
FAR = 20.0  # times the least figure
PREDICTION = "PREDICTION"  # of what was not measured


def measure(case: Case) -> str:
    """What the race compares: time per step, or the time of a whole training, or the latency of queries."""
    if case.load is not None:
        return "median latency"
    if case.training is None:
        return "time per step"
    if case.task == "epoch":
        return "time per epoch"
    target = case.training.target
    return f"time to {write(target, 'percent')}" if target is not None \
        else f"time of {counted(case.training.epochs, 'epoch')}"


def queries(load: Load) -> str:
    """20 queries /s at random moments; queries of 4 clients."""
    if load.rate is not None:
        return f"{load.rate:g} queries /s at random moments"
    return f"queries of {counted(load.clients or 0, 'client')}"


def timed(result: Result) -> list[Standing]:
    """The contenders whose steps were measured, those that may be compared first, fastest first."""
    return [each for each in result.standings if each.time is not None]


def unproven(results: Iterable[Result]) -> Result | None:
    """The first in which something was timed that must not be compared; a race that none finished is no such one."""
    return next((each for each in results if not each.comparable and not nobody_left(each)), None)


def nobody_left(result: Result) -> bool:
    """Whether whoever was timed failed later, and not for what it computed: nothing then speaks against the proofs."""
    return all(each.failure is not None and each.failure.kind != WRONG
               and not no_certificate(result.race, each.contender) for each in timed(result))


def ranked(result: Result) -> list[Standing]:
    """The contenders with a place, the first first; none where nothing may be compared."""
    return [each for each in timed(result) if each.place is not None and result.comparable]


def names(result: Result) -> list[str]:
    """The timed contenders in the order of reports."""
    return [each.contender for each in timed(result)]


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


def interval(estimate: Estimate | None) -> Interval | float | None:
    """A figure with its interval; one launch gives a bare figure (its interval has level 0)."""
    if estimate is None:
        return None
    if not estimate.level:
        return estimate.value
    return Interval(estimate.value, estimate.low, estimate.high)


def depends(on: str, samples: Sequence[np.ndarray], alpha: float) -> Iterator[Paragraph]:
    """Whether the ratio of a pair depends on the race or batch, by its differences in each; nothing where few tell."""
    test = interaction(samples, alpha)
    if test is None:
        return
    by = "(Welch's t tests of every two, Holm)"
    yield Paragraph((
        f"The ratio depends on the {on}: of {test.races} two at least differ {by}. Welch's F({test.degrees[0]:.0f}, "
        f"{test.degrees[1]:.1f}) = {test.statistic:.3g}, p = {test.chance:.2g}." if test.shown else
        f"That the ratio depends on the {on} is not shown: of {test.races} no two are shown to differ {by}.",))


def far_apart(figures: Iterable[float]) -> bool:
    """Whether an axis that all share tells them apart only if it is logarithmic."""
    above_zero = [each for each in figures if each > 0]
    return bool(above_zero) and max(above_zero) > FAR * min(above_zero)


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
    """Contender -> phase -> seconds: the phases without a task and those of this race's. "compile" is what
    a launch of the race paid, with a filled cache; "compile (cold)" what the first run paid."""
    found: dict[str, dict[str, float]] = {}
    for standing in result.standings:
        for phase, seconds in standing.phases.items():
            label = of_task(phase, result.race.case.task)
            if label:
                found.setdefault(standing.contender, {})[label] = seconds
    return found


def of_task(phase: str, task: str) -> str:
    """compile:train (cold) -> compile (cold); nothing for the phase of another task."""
    name, _, cold = phase.partition(" ")
    base, _, of = name.partition(":")
    return f"{base} {cold}".strip() if of in ("", task) else ""


def memory_bytes(result: Result, device: bool = False) -> dict[str, dict[str, int]]:
    """Contender -> phase -> peak bytes by its end. From the rehearsal, where allocators are as users have
    them; without one, and where a data set is passed over, which no rehearsal loads, the most over launches."""
    launched = {each.contender for each in result.race.phases if each.launch != REHEARSAL and each.memory}
    rehearsed = {each.contender for each in result.race.phases if each.launch == REHEARSAL and each.memory}
    rehearsed -= launched if result.race.case.training is not None else set()
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for phase in result.race.phases:
        label = of_task(phase.name, result.race.case.task)
        peak = phase.device_memory if device else phase.memory
        if label and peak and (phase.launch == REHEARSAL) == (phase.contender in rehearsed):
            found[phase.contender][label] = max(found[phase.contender].get(label, 0), peak)
    return dict(found)


def peaks_of(case: Case) -> str:
    """Where those peaks come from, in words."""
    return "the data set included" if case.training is not None else "with the allocator as users have it"


def processes_of(contenders: Iterable[str]) -> str:
    """Whose memory their amounts are, in words."""
    several = any(Contender.parse(each).strategy for each in contenders)
    return "of all processes of a contender together" if several else "of one process"


def certified(result: Result) -> set[str]:
    """The contenders with a passed certificate; a copy (torch:eager#2) is covered by its original."""
    passed = {each.contender for each in result.race.certificates if each.passed}
    return {name for name in result.race.contenders if passed & {name, name.partition("#")[0]}}


def formats(result: Result) -> dict[str, str]:
    """Contender -> the format by whose rounding it is certified, of those in a coarser one than the race."""
    found = {each.contender: each.precision for each in result.race.certificates
             if each.precision != result.race.case.precision}
    return {name: found[original] for name in result.race.contenders
            if (original := name if name in found else name.partition("#")[0]) in found}


def divided(result: Result) -> dict[str, str]:
    """Contender -> what it takes of parts of a batch, of those that compute another function so: "BatchNorm's
    statistics of each of 2 parts of the batch"."""
    return {each.contender: f"{' and '.join(each.of_slices)} of each of {each.slices} parts of the batch"
            for each in result.race.certificates if each.slices > 1}


def compressed(result: Result) -> dict[str, str]:
    """Contender -> what it does to gradients on their way, of processes that do something: "gradients sent in float16".
    """
    return {each.contender: f"gradients {sent(each)}" for each in result.race.certificates if each.gradients}


def sent(certificate: Certificate) -> str:
    """How it sends its gradients, where that changes them."""
    return APPROXIMATED if certificate.gradients == APPROXIMATED else f"sent in {certificate.gradients}"


def attributed(result: Result, warnings: Iterable[str]) -> list[Text]:
    """Each warning once; one that names no contender is led by those whose audit gave it."""
    told: list[Text] = []
    for warning in dict.fromkeys(warnings):
        named = any(name in warning for name in result.race.contenders)
        source = list(dict.fromkeys(each.contender for each in result.race.audit if each.warning == warning))
        lead = () if named or not source else (*listed([contender(name) for name in source]), ": ")
        told.append((*lead, warning))
    return told


def without_empty(table: Table) -> Table:
    """The table less the columns that say nothing in any row."""
    kept = [i for i in range(len(table.columns)) if any(row[i] not in (None, "") for row in table.rows)]
    return replace(table, columns=tuple(table.columns[i] for i in kept),
                   rows=tuple(tuple(row[i] for i in kept) for row in table.rows))
