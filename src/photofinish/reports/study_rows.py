"""One race of a study as a row: the verdict on its pair, and the published figure beside it."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.render.document import Cell, Column, Interval, Table
from photofinish.render.quantities import write
from photofinish.reports import verdict
from photofinish.reports.reading import between, contender, ranked
from photofinish.study import PlannedRace, Published, Settled
from photofinish.values import MAX, Result, Verdict

NOT_YET = "not yet run"
ALIKE = ("Group", "Input", "Batch", "Device", "Regime", "Link", "Task", "Day")  # often the same in all races of a group
PAIR = ("the first contender", "the second")


def table(tasks: Sequence[str], rows: Sequence[Settled], published: Published | None) -> Table:
    """Races of a group. Left out are columns in which all are alike or nothing stands, and names that are told without:
    those of a published pair stand below the table, and where there is none the faster is the first of the two."""
    told = [_row(each, task, published) for task in tasks for each in rows if task in each.planned.tasks]
    fixed = [title for title in ALIKE if len({str(row[title][1]) for row in told}) == 1]
    fixed += [title for title in ("Published", "Same way") if all(row[title][1] is None for row in told)]
    fixed += ["Contender", "Against"] if published else ["Faster"]
    return _drawn("verdicts", told, fixed, *((published.a, published.b) if published else PAIR))


def whole(groups: Sequence[tuple[Sequence[Settled], Published | None]]) -> Table:
    """Races of all groups with every column, so that a row can be told from any other wherever it is taken."""
    told = [_row(each, task, published) for rows, published in groups for each in rows for task in each.planned.tasks]
    return _drawn("races", told, (), *PAIR)


def _drawn(name: str, told: Sequence[dict[str, tuple[str, Cell]]], without: Sequence[str], a: str, b: str) -> Table:
    columns = tuple(Column(title, hint) for title, (hint, _) in told[0].items() if title not in without)
    return Table(name, columns, tuple(tuple(row[column.title][1] for column in columns) for row in told),
                 f"Each race judged by itself. Ratio: seconds of {b} over seconds of {a}.")


def _row(settled: Settled, task: str, published: Published | None) -> dict[str, tuple[str, Cell]]:
    """Title -> hint and cell. Names are "text": in a table too wide for the screen its model names a row, not they."""
    planned, result = settled.planned, result_of(settled, task)
    ours = pair(result, published)
    ratio = Interval(ours.ratio, ours.low, ours.high) if ours and ours.ratio and ours.low and ours.high else None
    return {
        "Group": ("text", planned.group), "Model": ("code", planned.model),
        "Input": ("text", "x".join(map(str, planned.shape or ())) or "own"),
        "Batch": ("count", _batch(planned, result)), "Device": ("text", planned.device),
        "Regime": ("text", planned.regime), "Link": ("text", str(planned.link) if planned.link else None),
        "Task": ("text", task), "Day": ("count", planned.day),
        "Verdict": ("text", _word(ours, result)), "Faster": ("text", _faster(ours)),
        "Contender": ("text", contender(ours.a) if ours else None),
        "Against": ("text", contender(ours.b) if ours else None),
        "Ratio": ("ratio", ratio), "Published": ("ratio", figure(planned)),
        "Same way": ("text", {None: None, True: "yes", False: "no"}[agrees(ours, planned.published)])}


def figure(planned: PlannedRace) -> Cell:
    """What was published of it; of another size it stands there with that size."""
    other = planned.elsewhere
    if planned.published is not None or other is None:
        return planned.published
    figure = other.figure if isinstance(other.figure, str) else write(other.figure, "ratio")
    return f"{figure} at {other.size}"


def size(planned: PlannedRace) -> str:
    shape = "x".join(map(str, planned.shape)) if planned.shape else ""
    told = [shape, f"by {planned.batch}" if planned.batch else "", planned.device if planned.device != "cpu" else "",
            planned.regime if planned.regime != "matched" else "", str(planned.link) if planned.link else "",
            f"day {planned.day}" if planned.day else ""]
    return " ".join(each for each in told if each) or "its own size"


def _batch(planned: PlannedRace, result: Result | None) -> Cell:
    """The largest that all can take is known when it was looked for."""
    return f"{result.race.case.batch} ({MAX})" if planned.batch == MAX and result else planned.batch


def result_of(settled: Settled, task: str) -> Result | None:
    return next((each for each in settled.results if each.race.case.task == task), None)


def pair(result: Result | None, published: Published | None) -> Verdict | None:
    """The verdict on the published pair; without one, on the first two."""
    if result is None:
        return None
    if published:
        return between(result, published.a, published.b)
    first = [each.contender for each in ranked(result)][:2]
    return between(result, *first) if len(first) == 2 else None


def _word(ours: Verdict | None, result: Result | None) -> str:
    """The verdict on the pair of the row, whoever else was in the race."""
    if result is None:
        return NOT_YET
    if ours is None:
        return verdict.outcome(result)
    return "FASTER" if ours.verdict == "SLOWER" else ours.verdict


def _faster(ours: Verdict | None) -> Cell:
    if ours is None or ours.verdict not in ("FASTER", "SLOWER"):
        return None
    return contender(ours.a if ours.verdict == "FASTER" else ours.b)


def agrees(ours: Verdict | None, published: float | str | None) -> bool | None:
    """Whether ours goes the way of the published figure; None where one of them goes no way."""
    if ours is None or published is None or isinstance(published, str) or ours.verdict not in ("FASTER", "SLOWER"):
        return None
    return None if published == 1 else (ours.verdict == "FASTER") == (published > 1)
