"""A study: its question, race by race who was faster, and what was published beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import numpy as np

from photofinish.explain.profile import whereabouts
from photofinish.render.document import (
    Banner,
    Block,
    Cell,
    Column,
    Document,
    Facts,
    Fold,
    Heading,
    Note,
    Paragraph,
    Quantity,
    Section,
    Shade,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES
from photofinish.reports import costs, epochs, figures, learning, provenance, study_rows, verdict
from photofinish.reports.reading import TASKS, depends, interval
from photofinish.stats.energy import consumption
from photofinish.stats.interaction import differences
from photofinish.stats.largest import MOST_TRIALS
from photofinish.stats.verdict import compared, decide, left
from photofinish.study import PlannedRace, Published, Settled, Study
from photofinish.values import MAX, Result, Verdict, to_json
from photofinish.values.profile import KERNELS

SOME = 3  # races that are named where a reason keeps many out


def document(study: Study, races: Sequence[Settled]) -> Document:
    """What the store knows of the study."""
    done = [each for each in races if each.results]
    pending, refused = sum(each.pending for each in races), sum(each.refused for each in races)
    left_out = len(races) - len(done) - pending - refused
    state = f"{len(done)} of {len(races)} races run" + (f", {left_out} left out" if left_out else "") \
        + (f", {refused} to be tried again" if refused else "")
    tone, label = ("open", "NOT COMPLETE") if pending or (done and refused) else ("good", "COMPLETE") if done else \
        ("bad", "NOTHING RUN")
    banner = Banner(tone, label, (study.question,), tuple(_answers(races, study)) or ((state,),))
    sections = [Section("question", "", (banner, *_source(study)))]
    for number, (group, rows) in enumerate(_groups(races), 1):  # a name may be any text, or that of another section
        sections.append(Section(f"group-{number}", _heading(group, rows), tuple(_group(rows, _published(study, rows)))))
    sections += _whole(study, races)
    sections += costs.section(study, races)
    sections += [where] if (where := provenance.section(_results(races))).blocks else []
    return Document(_title(study), state, study.title, (study.question,), _contenders(study), tuple(sections))


def plan(study: Study, races: Sequence[Settled], today: Sequence[PlannedRace] | None = None,
         warning: str = "") -> Document:
    """What would be run, what is left out and why, how long it would take, and a warning to whoever runs it. `today`
    are those that may be run on this date, None: all that are due."""
    due = [each.planned for each in races if each.due and (today is None or each.planned in today)]
    later = [each.planned for each in races if each.due and each.planned not in due]
    skipped = [each for each in races if each.planned.skip and each.reason]
    told: list[Block] = [Paragraph((study.question,)), *_source(study), Facts((
        ("races", len(races)), ("done", sum(bool(each.results) for each in races)),
        ("left out", len(skipped)), ("to run", len(due)), *[("on another date", len(later))][:len(later)]))]
    if due:
        told.append(_budgets(due))
        told += [Note((warning,), "warning")] if warning else []
    columns = (Column("Group"), Column("Race"), Column("Contenders"), Column("State"))
    rows = tuple((each.planned.group, each.planned.title, ", ".join(each.planned.contenders),
                  "on another date" if each.planned in later else
                  f"to be tried again: {each.reason}" if each.refused else _state(each))
                 for each in races if each not in skipped)
    return Document(_title(study), "what would be run", study.title, (study.question,), (),
                    (Section("plan", "", (*told, Table("plan", columns, rows), *_left_out(skipped))),))


def _budgets(due: Sequence[PlannedRace]) -> Paragraph:
    searches = (f"; and where the batch is {MAX} the search for it: up to {MOST_TRIALS} trials of each contender",)
    return Paragraph((
        "The budgets come to ", Quantity(sum(each.budget for each in due), "duration"), ". On top comes what proves "
        "the contenders, once for each model and input size; what two launches, or as many as are asked for, take "
        "beyond a budget", *(searches if any(each.batch == MAX for each in due) else ()), "."))


def as_json(study: Study, races: Sequence[Settled]) -> dict[str, Any]:
    """The documented object of `photofinish study --json`."""
    published = {group: _published(study, rows) for group, rows in _groups(races)}
    return {"study": study.name, "scale": study.scale, "title": study.title, "question": study.question,
            "source": study.source, "costs": costs.as_json(study, races), **provenance.as_json(_results(races)),
            "races": [_race_json(each, published[each.planned.group]) for each in races]}


def _race_json(settled: Settled, published: Published | None) -> dict[str, Any]:
    planned = settled.planned
    found = []
    for result in settled.results:
        ours = study_rows.pair(result, published)
        found.append({"id": result.race.id, "task": result.race.case.task, "outcome": verdict.outcome(result),
                      "verdict": to_json(ours) if ours else None, "agrees": study_rows.agrees(ours, planned.published)})
    return {"key": planned.key, "group": planned.group, "model": planned.model, "tasks": list(planned.tasks),
            "batch": planned.batch, "input": list(planned.shape) if planned.shape else None, "device": planned.device,
            "regime": planned.regime, "link": str(planned.link) if planned.link else None, "day": planned.day,
            "contenders": list(planned.contenders),
            "published": planned.published, "elsewhere": to_json(planned.elsewhere) if planned.elsewhere else None,
            "state": _state(settled), "results": found}


def _results(races: Sequence[Settled]) -> list[Result]:
    return [result for each in races for result in each.results]


def _groups(races: Sequence[Settled]) -> list[tuple[str, list[Settled]]]:
    return [(group, [each for each in races if each.planned.group == group])
            for group in dict.fromkeys(each.planned.group for each in races)]


def _published(study: Study, rows: Sequence[Settled]) -> Published | None:
    """What was published of the group, if a figure of any of its races was."""
    known = any(study_rows.figure(each.planned) is not None for each in rows)
    return study.published.get(rows[0].planned.group) if known else None


def _heading(group: str, rows: Sequence[Settled]) -> str:
    """As a title, but for the name of a model."""
    return group if any(each.planned.model == group for each in rows) else group[:1].upper() + group[1:]


def _tasks(rows: Sequence[Settled]) -> list[str]:
    return list(dict.fromkeys(task for each in rows for task in each.planned.tasks))


def _title(study: Study) -> str:
    return study.title + (f" ({study.scale})" if study.scale else "")


def _source(study: Study) -> list[Block]:
    return [Note((f"After {study.source}.",))] if study.source else []


def _contenders(study: Study) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for each in study.races for name in each.contenders))


def _state(settled: Settled) -> str:
    if settled.reason:
        return f"left out: {settled.reason}"
    return "done" if settled.results else study_rows.NOT_YET


def _group(rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    """A map and what it comes to for each task, then every race, then what was left out."""
    if published:
        yield Paragraph(("Published (", published.source, "): seconds of ", Span(published.b, "contender"),
                         " over seconds of ", Span(published.a, "contender"), "."))
    tasks = _tasks(rows)
    able = [each for each in rows if not each.reason]
    for task in tasks if able else ():
        told = tuple(_of_task(task, able, published))
        if told and len(tasks) > 1:
            yield Heading(TASKS[task].capitalize())
        yield from told
    if able:
        yield study_rows.table(tasks, able, published)
    for task in tasks:
        yield from figures.of_all([(each.planned.model, study_rows.size(each.planned), result) for each in able
                                   if (result := study_rows.result_of(each, task)) is not None], alone=len(tasks) == 1)
    yield from _left_out(rows)


def _whole(study: Study, races: Sequence[Settled]) -> Iterator[Section]:
    """One table for other programs: those of the groups leave out what their readers see around them."""
    groups = [(able, _published(study, rows)) for _, rows in _groups(races)
              if (able := [each for each in rows if not each.reason])]
    if groups:
        yield Section("races", "Every race", (
            Paragraph(("Races of all groups in one table, with all that tells them apart: in a terminal with --full, "
                       "as CSV with --csv.",)),
            Fold("Every race in one table", (study_rows.whole(groups),))))


def _of_task(task: str, rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    yield from _map(task, rows, published)
    yield from _comes_to(task, rows, published)
    yield from _agreement(task, rows, published)
    found = [(each.planned, result) for each in rows if (result := study_rows.result_of(each, task)) is not None]
    if task == "epoch":
        yield from epochs.firsts([(planned.model, result) for planned, result in found])
    if task == "fit":
        yield from learning.ends([(planned.title, result) for planned, result in found])
    yield from _busy(task, rows)
    yield from _kernels(task, rows)


def _left_out(races: Sequence[Settled]) -> Iterator[Block]:
    """The reasons, each with the races it keeps out."""
    for reason in dict.fromkeys(each.reason for each in races if each.reason):
        titles = [each.planned.title for each in races if each.reason == reason]
        some = "; ".join(titles[:SOME]) + ("; ..." if len(titles) > SOME else "")
        yield Note((f"{len(titles)} left out, {reason}: {some}",))


def _map(task: str, rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    """Models by sizes, with the letter and in the colour of who is faster, the stronger the more; only where that makes
    a grid."""
    sizes = list(dict.fromkeys(study_rows.size(each.planned) for each in rows))
    models = list(dict.fromkeys(each.planned.model for each in rows))
    if len(sizes) < 2 or len(models) < 2 or not any(each.results for each in rows):
        return
    results = {(each.planned.model, study_rows.size(each.planned)): study_rows.result_of(each, task) for each in rows}
    verdicts = {where: study_rows.pair(result, published) for where, result in results.items()}
    letters = _letters([each for each in results.values() if each], [each for each in verdicts.values() if each])
    told = ", ".join(f"{letter}: {name}" for name, letter in letters.items())
    yield Table("map", (Column("Model", "code"), *(Column(size) for size in sizes)),
                tuple((model, *(_tile(verdicts.get((model, size)), letters) for size in sizes)) for model in models),
                "How many times as long the slower takes, each race judged by itself"
                + (f", and who is faster, in its colour ({told})" if told else "") + "; = equivalent, ? undecided.")


def _letters(results: Sequence[Result], verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Of each of the pairs, in the order of the field; of nobody where nobody is shown to be faster."""
    pairs = {name for each in verdicts for name in (each.a, each.b)} if any(map(_led, verdicts)) else set()
    names = dict.fromkeys(name for each in results for name in each.race.contenders if name in pairs)
    return dict(zip(names, ascii_uppercase))


def _led(ours: Verdict | None) -> tuple[str, float] | None:
    """Who is faster, and how many times as long the other takes; None where nobody is shown to be."""
    if ours is None or not ours.ratio or ours.verdict not in ("FASTER", "SLOWER"):
        return None
    return (ours.a, ours.ratio) if ours.verdict == "FASTER" else (ours.b, 1 / ours.ratio)


def _tile(ours: Verdict | None, letters: Mapping[str, str]) -> Cell:
    if ours is None or ours.ratio is None:
        return None
    led = _led(ours)
    if led is None:
        return {"EQUIVALENT": "=", "UNDECIDED": "?"}.get(ours.verdict, ours.verdict.lower())
    name, ratio = led
    return Shade(f"{ratio:.2f}{TIMES} {letters.get(name, name)}", series=name, strength=min(1.0, math.log2(ratio)))


@dataclass(frozen=True)
class _Tally:
    """Races of one pair, judged together at `alpha`: `samples` are its differences in each, `words` how often which
    verdict."""

    a: str
    b: str
    alpha: float
    samples: Sequence[np.ndarray]
    words: Counter[str]


def _tally(task: str, rows: Sequence[Settled], published: Published | None) -> _Tally | None:
    """None where fewer than two races compare the pair."""
    found = [result for each in rows if (result := study_rows.result_of(each, task)) is not None and result.comparable]
    pairs = [(ours.a, ours.b) for result in found if (ours := study_rows.pair(result, published)) is not None]
    if not pairs:
        return None
    a, b = (published.a, published.b) if published else pairs[0]
    samples = [each for result in found if {a, b} <= set(result.race.contenders)
               and compared(result, a, b) and len(each := differences(result.race, a, b)) > 1]
    if len(samples) < 2:
        return None
    alpha = left(result.race for result in found)
    judged = decide(samples, found[0].race.margin, alpha)
    return _Tally(a, b, alpha, samples, Counter(each.word for each in judged))


def _answers(races: Sequence[Settled], study: Study) -> Iterator[Text]:
    """Of each group and task, who was faster how often; where there are no two races, of the one."""
    for group, rows in _groups(races):
        tasks, published = _tasks(rows), _published(study, rows)
        for task in tasks:
            where = _heading(group, rows) + (f", {TASKS[task]}" if len(tasks) > 1 else "")
            found = _tally(task, rows, published)
            if found:
                yield (f"{where}, {len(found.samples)} races, judged together (Holm), ", *_told(found), ".")
                continue
            for row in rows:
                ours = study_rows.pair(study_rows.result_of(row, task), published)
                if ours is not None and ours.ratio is not None:
                    model = "" if row.planned.model == group else f", {row.planned.model}"
                    yield (f"{where}{model}: ", *_alone(ours), ".")


def _told(found: _Tally) -> Iterator[Span | str]:
    """Who of whom is faster in how many; what happened in none is left out."""
    yield from (Span(found.a, "contender"), " against ", Span(found.b, "contender"), ": ")
    parts: list[Text] = [(Span(name, "contender"), f" is faster in {found.words[word]}")
                         for name, word in ((found.a, "FASTER"), (found.b, "SLOWER")) if found.words[word]]
    parts += [(f"{found.words[word]} {word.lower()}",) for word in ("EQUIVALENT", "UNDECIDED") if found.words[word]]
    for number, part in enumerate(parts):
        yield from ((", ", *part) if number else part)  # type: ignore[misc]


def _alone(ours: Verdict) -> Text:
    """One race's verdict in words."""
    led = _led(ours)
    if led is None:
        return (Span(ours.a, "contender"), " against ", Span(ours.b, "contender"), f": {ours.verdict.lower()}")
    faster, ratio = led
    slower = ours.b if faster == ours.a else ours.a
    return (Span(faster, "contender"), " is faster than ", Span(slower, "contender"), ", ", Quantity(ratio, "ratio"))


def _comes_to(task: str, rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    """How often each is faster when all races are judged together, and whether they have one ratio at all."""
    found = _tally(task, rows, published)
    if found is None:
        return
    yield Paragraph((f"Of {len(found.samples)} races, judged together (Holm), ", *_told(found), "."))
    yield from depends("race", found.samples, found.alpha)


def _busy(task: str, rows: Sequence[Settled]) -> Iterator[Block]:
    """The share of the time in which the device worked, of each race and contender, where that was counted: what is
    left of it is no kernel's time."""
    shares = [(each.planned, {used.contender: used.busy for used in consumption(result.race) if used.busy is not None})
              for each in rows if (result := study_rows.result_of(each, task)) is not None]
    names = list(dict.fromkeys(name for _, busy in shares for name in busy))
    if names:
        columns = (Column("Model", "code"), Column("Size"), *(Column(name, "percent") for name in names))
        yield Table("busy", columns, tuple(
            (planned.model, study_rows.size(planned), *(busy.get(name) for name in names))
            for planned, busy in shares if busy),
            "How busy the device was, by the driver's own samples over a run of several seconds.")


def _kernels(task: str, rows: Sequence[Settled]) -> Iterator[Block]:
    """The share of a step that kernels take, of each race and contender whose steps were looked into."""
    found = [(each.planned, result.race) for each in rows if (result := study_rows.result_of(each, task)) is not None]
    shares = [(planned, {told.contender: told.shares.get(KERNELS) for told in whereabouts(race, race.contenders)})
              for planned, race in found if race.profiles]
    told = list(dict.fromkeys(name for _, by_name in shares for name, share in by_name.items() if share is not None))
    if told:
        columns = (Column("Model", "code"), Column("Size"), *(Column(name, "percent") for name in told))
        yield Table("kernels", columns, tuple(
            (planned.model, study_rows.size(planned), *(interval(by_name.get(name)) for name in told))
            for planned, by_name in shares), "The share of a step in which kernels compute, by each framework's own "
            "profiler; 95 % intervals over launches. The rest is what a framework does around them.")


def _agreement(task: str, rows: Sequence[Settled], published: Published | None) -> Iterator[Block]:
    found = [study_rows.agrees(study_rows.pair(result, published), each.planned.published)
             for each in rows if (result := study_rows.result_of(each, task)) is not None]
    judged = [each for each in found if each is not None]
    if judged:
        yield Paragraph((f"{sum(judged)} of {len(judged)} races that are decided and have a published figure go the "
                         "way it says.",))
