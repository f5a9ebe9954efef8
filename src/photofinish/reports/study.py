"""A study: its question, race by race who was faster, and what was published beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from photofinish.render.document import (
    Banner,
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Heading,
    Interval,
    Note,
    Paragraph,
    Quantity,
    Section,
    Span,
    Table,
)
from photofinish.reports import verdict
from photofinish.reports.reading import TASKS, between, ranked
from photofinish.study import OUT_OF_MEMORY, Published, Settled, Study
from photofinish.values import Result, Verdict, to_json

NOT_YET = "not yet run"
SOME = 3  # races that are named where a reason keeps many out


def document(study: Study, races: Sequence[Settled]) -> Document:
    """What the store knows of the study."""
    done = [each for each in races if each.results]
    pending = sum(each.pending for each in races)
    left_out = len(races) - len(done) - pending
    state = f"{len(done)} of {len(races)} races run" + (f", {left_out} left out" if left_out else "")
    tone = "open" if pending else "good"
    banner = Banner(tone, "NOT COMPLETE" if pending else "COMPLETE", (study.question,), ((state,),))
    sections = [Section("question", "", (banner, *_source(study)))]
    for group in dict.fromkeys(each.planned.group for each in races):
        rows = [each for each in races if each.planned.group == group]
        sections.append(Section(group.replace(" ", "-"), group.capitalize(),
                                tuple(_group(rows, study.published.get(group)))))
    return Document(_title(study), state, study.title, (study.question,), _contenders(study), tuple(sections))


def plan(study: Study, races: Sequence[Settled]) -> Document:
    """What would be run, what is left out and why, and how long it would take."""
    pending = [each.planned for each in races if each.pending]
    seconds = sum(each.budget for each in pending)
    told: list[Block] = [Paragraph((study.question,)), *_source(study), Facts((
        ("races", len(races)), ("done", sum(bool(each.results) for each in races)),
        ("left out", sum(bool(each.reason) for each in races)), ("to run", len(pending))))]
    told.append(Paragraph((
        "Measurements take at most ", Quantity(seconds, "duration"),
        "; what starts and proves the contenders comes on top, once for each model and input size.")))
    columns = (Column("Race"), Column("Contenders"), Column("State"))
    rows = tuple((each.planned.title, ", ".join(each.planned.contenders), _state(each)) for each in races
                 if not each.reason)
    return Document(_title(study), "what would be run", study.title, (study.question,), (),
                    (Section("plan", "", (*told, Table("plan", columns, rows), *_left_out(races))),))


def as_json(study: Study, races: Sequence[Settled]) -> dict[str, Any]:
    """The documented object of `photofinish study --json`."""
    return {"study": study.name, "scale": study.scale, "title": study.title, "question": study.question,
            "source": study.source, "races": [_race_json(each, study.published.get(each.planned.group))
                                              for each in races]}


def _race_json(settled: Settled, published: Published | None) -> dict[str, Any]:
    planned = settled.planned
    found = []
    for result in settled.results:
        ours = _pair(result, published)
        found.append({"id": result.race.id, "task": result.race.case.task, "outcome": verdict.outcome(result),
                      "verdict": to_json(ours) if ours else None, "agrees": _agrees(ours, planned.published)})
    return {"key": planned.key, "group": planned.group, "model": planned.model, "tasks": list(planned.tasks),
            "batch": planned.batch, "input": list(planned.shape) if planned.shape else None, "device": planned.device,
            "regime": planned.regime, "contenders": list(planned.contenders), "published": planned.published,
            "state": _state(settled), "results": found}


def _title(study: Study) -> str:
    return study.title + (f" ({study.scale})" if study.scale else "")


def _source(study: Study) -> list[Block]:
    return [Note((f"After {study.source}.",))] if study.source else []


def _contenders(study: Study) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in study.races for name in each.contenders))


def _state(settled: Settled) -> str:
    if settled.reason:
        return f"left out: {settled.reason}"
    return "done" if settled.results else NOT_YET


def _group(rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    """A table for each task, then what was left out."""
    if published:
        yield Paragraph(("Published (", published.source, "): seconds of ", Span(published.b, "contender"),
                         " over seconds of ", Span(published.a, "contender"), "."))
    tasks = list(dict.fromkeys(task for each in rows for task in each.planned.tasks))
    for task in tasks:
        if len(tasks) > 1:
            yield Heading(TASKS[task].capitalize())
        able = [each for each in rows if task in each.planned.tasks and not each.reason]
        if able:
            yield _table(task, able, published)
        yield from _agreement(task, rows, published)
    yield from _left_out(rows)


def _left_out(races: Sequence[Settled]) -> Iterator[Block]:
    """The reasons, each with the races it keeps out."""
    for reason in dict.fromkeys(each.reason for each in races if each.reason):
        titles = [each.planned.title for each in races if each.reason == reason]
        some = "; ".join(titles[:SOME]) + ("; ..." if len(titles) > SOME else "")
        yield Note((f"{len(titles)} left out, {reason}: {some}",))


def _table(task: str, rows: Sequence[Settled], published: Published | None) -> Table:
    columns = [Column("Model", "code"), Column("Input"), Column("Batch", "count"), Column("Verdict"),
               Column("Faster", "contender"), Column("Ratio", "ratio")]
    columns += [Column("Published", "ratio"), Column("Same direction")] if published else []
    return Table(f"{rows[0].planned.group}-{task}", tuple(columns),
                 tuple(_row(each, task, published) for each in rows))


def _row(settled: Settled, task: str, published: Published | None) -> tuple[Cell, ...]:
    planned = settled.planned
    size = "x".join(map(str, planned.shape)) if planned.shape else "its own"
    result = _of(settled, task)
    ours = _pair(result, published) if result else None
    ratio = Interval(ours.ratio, ours.low, ours.high) if ours and ours.ratio and ours.low and ours.high else None
    told: list[Cell] = [planned.model, size, planned.batch, verdict.outcome(result) if result else NOT_YET,
                        _faster(ours), ratio]
    if published:
        agrees = _agrees(ours, planned.published)
        told += [planned.published, {True: "yes", False: "no"}.get(agrees) if agrees is not None else None]
    return tuple(told)


def _of(settled: Settled, task: str) -> Result | None:
    return next((each for each in settled.results if each.race.case.task == task), None)


def _pair(result: Result | None, published: Published | None) -> Verdict | None:
    """The verdict on the published pair; without one, on the first two."""
    if result is None:
        return None
    if published:
        return between(result, published.a, published.b)
    first = [each.contender for each in ranked(result)][:2]
    return between(result, *first) if len(first) == 2 else None


def _faster(ours: Verdict | None) -> Cell:
    if ours is None or ours.verdict not in ("FASTER", "SLOWER"):
        return None
    return Span(ours.a if ours.verdict == "FASTER" else ours.b, "contender")


def _agrees(ours: Verdict | None, published: float | str | None) -> bool | None:
    """Whether ours goes the way of the published figure; None where one of them goes no way."""
    if ours is None or published is None or published == OUT_OF_MEMORY or ours.verdict not in ("FASTER", "SLOWER"):
        return None
    return None if published == 1 else (ours.verdict == "FASTER") == (float(published) > 1)


def _agreement(task: str, rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    found = [_agrees(_pair(result, published), each.planned.published)
             for each in rows if (result := _of(each, task)) is not None]
    judged = [each for each in found if each is not None]
    if judged:
        yield Paragraph((f"{sum(judged)} of {len(judged)} races that are decided and have a published figure go the "
                         "way it says.",))
