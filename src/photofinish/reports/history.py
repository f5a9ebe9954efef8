"""What changed over the years: the versions of frameworks by the day they came out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from photofinish.render.document import (
    Axis,
    Banner,
    Block,
    Cell,
    Chart,
    Column,
    Document,
    Note,
    Paragraph,
    Section,
    Series,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES
from photofinish.reports import failures, verdict
from photofinish.reports.json import estimated
from photofinish.reports.race import describe
from photofinish.reports.reading import (
    TASKS,
    attributed,
    between,
    contender,
    interval,
    measure,
    processes_of,
    without_empty,
)
from photofinish.stats.paired import POINT
from photofinish.stats.phases import estimate_phase
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.timeline import History
from photofinish.timeline.versions import Dated
from photofinish.values import Estimate, Result, Standing, Verdict, to_json

# What is drawn: its title, its key in JSON, its hint, and where it is read. The peak is that of the rehearsal, one
# figure without an interval.
Reading = Callable[[Result, Standing], "Estimate | None"]
DRAWN: tuple[tuple[str, str, str, Reading], ...] = (
    ("Time per step", "seconds_per_step", "duration", lambda result, each: each.time),
    ("First step", "first_step", "duration",
     lambda result, each: estimate_phase(result.race, each.contender, f"first_step:{result.race.case.task}")),
    ("Import", "import", "duration", lambda result, each: estimate_phase(result.race, each.contender, "import")),
    ("Peak memory", "memory", "bytes", lambda result, each: _point(each.memory if each.time else None)),
)
_TONES = {True: "good", False: "bad"}


def documents(history: History) -> list[Document]:
    """One for each task."""
    return [_document(history, result) for result in history.results]


def as_json(history: History) -> list[dict[str, Any]]:
    """The documented objects of `photofinish history --json`, one for each task."""
    return [{"race": result.race.id, "model": result.race.case.model, "task": result.race.case.task,
             "comparable": result.comparable, "versions": [_version_json(history, result, each)
                                                           for each in history.versions],
             "changes": [to_json(each) for _, _, each in _changes(history, result)]}
            for result in history.results]


def _version_json(history: History, result: Result, version: Dated) -> dict[str, Any]:
    standing = _standing(result, version)
    figures = {key: estimated(read(result, standing)) if standing else None for _, key, _, read in DRAWN}
    return {"contender": version.contender, "line": version.line, "version": version.version,
            "released": version.day.isoformat(), "place": standing.place if standing else None,
            **figures, "memory": standing.memory if standing and standing.time else None,
            "reason": "; ".join(_reasons(history, result, version))}


def _document(history: History, result: Result) -> Document:
    case = result.race.case
    title = f"{case.model}, {TASKS[case.task]}, over the years"
    told = [_said(result, *each) for each in _changes(history, result)]
    label = "HISTORY" if result.comparable else "NOT COMPARABLE"
    summary: Text = told[0] if told else ("No two versions of one framework could be compared.",)
    blocks: list[Block] = [Banner(_TONES[result.comparable], label, summary, tuple(told[1:]))]
    if not result.comparable:
        blocks.append(Paragraph(verdict.sentence(result)))
    blocks += [Note(warning, "warning") for warning in attributed(result, result.warnings)]
    blocks += [Note((contender(each.contender), f" is left out: {each.reason}",
                     *((f" ({each.cure})",) if each.cure else ()))) for each in history.skipped]
    sections = (
        Section("history", "", tuple(blocks)),
        failures.section(result),
        Section("timeline", "By release date", tuple(_charts(history, result))),
        Section("versions", "Every version", (_table(history, result), Note((
            "Released: when the package index got its first file. Phases are of launches whose compile caches are "
            f"filled; the peak is {processes_of(result.race.contenders)}, by the end of warm-up. Everything else of "
            "this race: ",
            f"photofinish report {result.race.id} --full")))))
    return Document(title, describe(case), title, summary, _lines(history),
                    tuple(each for each in sections if each.blocks))


def _lines(history: History) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.line for each in history.versions))


def _standing(result: Result, version: Dated) -> Standing | None:
    return next((each for each in result.standings if each.contender == version.contender), None)


def _changes(history: History, result: Result) -> Iterator[tuple[Dated, Dated, Verdict]]:
    """The first and the last version of each line that may be compared, and the verdict on the last (a) against the
    first (b), where there is one."""
    for line in _lines(history):
        able = [each for each in history.versions if each.line == line and _may_be_compared(result, each)]
        found = between(result, able[-1].contender, able[0].contender) if len(able) > 1 else None
        if found is not None and found.low is not None:
            yield able[0], able[-1], found


def _may_be_compared(result: Result, version: Dated) -> bool:
    """Whether it was timed to the end, and proven to compute the same."""
    standing, name = _standing(result, version), version.contender
    return standing is not None and standing.time is not None and failure_of(result.race, name) is None \
        and not no_certificate(result.race, name)


def _said(result: Result, first: Dated, last: Dated, found: Verdict) -> Text:
    """What became of a line, in one sentence."""
    slower = between(result, first.contender, last.contender) if found.verdict == "SLOWER" else None
    ratio = f"{verdict.ratio_of(slower or found)[0]}{TIMES}"
    words = {"FASTER": f" is {ratio} faster than ", "SLOWER": f" takes {ratio} as long as ",
             "EQUIVALENT": " is equivalent to "}.get(found.verdict, " is not shown to differ from ")
    return (contender(last.contender), f" ({last.day.year})", words, contender(first.contender),
            f" ({first.day.year}) here ({verdict.interval_of(slower or found)}).")


def _charts(history: History, result: Result) -> Iterator[Chart]:
    for title, _, hint, read in DRAWN:
        series = [each for line in _lines(history) if (each := _series(history, result, line, read)).x]
        if series:
            yield Chart("lines", f"{title} by release date", "A line joins the versions of one framework, in the order "
                        "of their days.", tuple(series), Axis("released", "date"), Axis(_title(title, result), hint))


def _title(title: str, result: Result) -> str:
    return measure(result.race.case) if title == "Time per step" else title.lower()


def _series(history: History, result: Result, line: str, read: Reading) -> Series:
    """The versions that have the figure; the intervals if all of them have one."""
    found = [(each.day.toordinal(), figure) for each in history.versions if each.line == line
             and (standing := _standing(result, each)) and (figure := read(result, standing))]
    found.sort(key=lambda each: each[0])  # several may have come out on one day
    days, figures = [day for day, _ in found], [figure for _, figure in found]
    spans = [figure for figure in figures if figure.level != POINT]
    ends = spans if len(spans) == len(figures) else []
    return Series(line, tuple(map(float, days)), tuple(each.value for each in figures),
                  tuple(each.low for each in ends), tuple(each.high for each in ends))


def _table(history: History, result: Result) -> Table:
    columns = (Column("Version", "contender"), Column("Released"), Column("Place", "count"),
               *(Column(title, hint) for title, _, hint, _ in DRAWN), Column("Times the first", "ratio"),
               Column("Why not"))
    return without_empty(Table("versions", columns, tuple(_row(history, result, each) for each in history.versions)))


def _row(history: History, result: Result, version: Dated) -> tuple[Cell, ...]:
    standing = _standing(result, version)
    first = next(each for each in history.versions if each.line == version.line)
    found = between(result, first.contender, version.contender)
    ratio = Estimate(found.ratio, found.low, found.high) if found and found.ratio and found.low and found.high else None
    return (contender(version.contender), version.day.isoformat(), standing.place if standing else None,
            *(interval(read(result, standing)) if standing else None for _, _, _, read in DRAWN), interval(ratio),
            "; ".join(_reasons(history, result, version)))


def _reasons(history: History, result: Result, version: Dated) -> Sequence[str]:
    """Why a version has no time, or one that is compared with nobody."""
    skips = [each.reason for each in history.skipped if each.contender == version.contender]
    standing = _standing(result, version)
    failed = [standing.failure.kind] if standing is not None and standing.failure is not None else []
    unproven = no_certificate(result.race, version.contender) if standing is not None else ""
    return skips or failed or ([unproven] if unproven else [])


def _point(value: float | None) -> Estimate | None:
    return None if value is None else Estimate(float(value), float(value), float(value), POINT)
