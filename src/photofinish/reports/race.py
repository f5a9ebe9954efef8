"""The whole race: every question in reading order, as one Document."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from photofinish.render.document import Document, Section
from photofinish.render.quantities import TIMES, counted
from photofinish.reports import (
    audit,
    certificate,
    distribution,
    energy,
    epochs,
    failures,
    largest_batch,
    learning,
    losses,
    machine,
    memory,
    phases,
    precision,
    profile,
    scaling,
    serving,
    standings,
    total_time,
    verdict,
    warm_up,
)
from photofinish.reports.reading import TASKS, names, queries
from photofinish.values import Case, Race, Result

QUESTIONS: dict[str, Callable[[Result], Section]] = {
    "verdict": verdict.section,
    "failures": failures.section,
    "standings": standings.section,
    "precision": precision.section,
    "scaling": scaling.section,
    "profile": profile.of_race,
    "serving": serving.section,
    "largest-batch": largest_batch.section,
    "learning": learning.section,
    "epochs": epochs.section,
    "total-time": total_time.section,
    "phases": phases.section,
    "memory": memory.section,
    "energy": energy.section,
    "warm-up": warm_up.section,
    "distribution": distribution.section,
    "losses": losses.section,
    "certificate": certificate.section,
    "audit": audit.section,
    "machine": machine.section,
}

# What a terminal shows at the end of a race: the rest is a command or a click away.
BRIEF = ("verdict", "failures", "standings", "precision", "scaling", "profile", "serving", "largest-batch",
         "learning", "epochs", "total-time", "energy", "certificate")


def document(result: Result, questions: Sequence[str] | None = None) -> Document:
    """The report of one race. `questions` picks sections by name, in the order given (default: all).

    Raises KeyError for a question that is not in QUESTIONS.
    """
    order = list(QUESTIONS if questions is None else questions)
    if not result.comparable:  # the reason comes before the times
        order.sort(key=lambda question: question not in ("verdict", "failures", "certificate"))
    sections = [QUESTIONS[each](result) for each in order]
    case = result.race.case
    series = tuple(dict.fromkeys([*names(result), *result.race.contenders]))
    return Document(f"{case.model}, {TASKS.get(case.task, case.task)}", describe(case, _gpu(result.race)),
                    TASKS.get(case.task, case.task), verdict.sentence(result), series,
                    tuple(each for each in sections if each.blocks))


def _gpu(race: Race) -> str:
    """What kind of GPU the race was on, "" where it was on none or the machine has several kinds."""
    kinds = {each["name"] for each in race.machine.get("gpus", ())} if race.case.device != "cpu" else set()
    return str(kinds.pop()) if len(kinds) == 1 else ""


def describe(case: Case, gpu: str = "") -> str:
    """The case in one line: batch, shape, precision, device (with its name, if one is told), threads, regime."""
    size = f" of {TIMES.join(map(str, case.shape))}" if case.shape else ""
    threads = f", {counted(case.threads, 'thread')}" if case.device == "cpu" else ""
    device = f"{case.device} ({gpu})" if gpu else case.device
    data = f"{case.training.data}, {counted(case.training.epochs, 'epoch')}, " if case.training else ""
    data += f"{queries(case.load)}, " if case.load else ""
    link = f", links of {case.link}" if case.link else f", on {' and '.join(case.hosts)}" if case.hosts else ""
    return f"{data}batch {case.batch}{size}, {case.precision}, {device}{threads}, {case.regime}{link}"
