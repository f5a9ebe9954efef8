"""Who came where, and by how much."""

from __future__ import annotations

from photofinish.render.document import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Interval,
    Section,
    Series,
    Span,
    Table,
)
from photofinish.reports.reading import between, contender, finished, interval, without_empty
from photofinish.values import Result, Standing


def section(result: Result) -> Section:
    ranking = finished(result)
    title = "Standings" if result.comparable else "Times, which must not be compared"
    blocks: list[Block] = [table(result)] if result.standings else []
    if result.comparable and len(ranking) > 1:
        blocks += [_ratios(result, ranking), Fold("Every pair", (pairs(result),))]
    return Section("standings", title, tuple(blocks))


def table(result: Result) -> Table:
    ranking = finished(result)
    failed = [each for each in result.standings if each.step is None]
    columns = (Column("Place"), Column("Contender", "contender"), Column("Time per step, 95 % interval", "duration"),
               Column(f"{result.race.case.unit.capitalize()} /s", "number"), Column("Time over fastest", "ratio"),
               Column("CPU cores used", "number"), Column("Page faults per step", "number"),
               Column("Peak memory", "bytes"), Column("Scatter of launches", "percent"))
    shown = columns if result.comparable else tuple(each for each in columns if each.hint != "ratio")
    rows = tuple(_row(result, each, ranking) for each in ranking)
    rows += tuple(_failed(each, len(columns)) for each in failed)
    if not result.comparable:
        rows = tuple(row[:4] + row[5:] for row in rows)
    caption = ("Contenders that share a place are not shown to differ. " if result.comparable and len(ranking) > 1
               else "")
    caption += "Scatter: standard deviation of the step time between launches, each in a fresh process."
    return without_empty(Table("standings", shown, rows, caption))


def _row(result: Result, standing: Standing, ranking: list[Standing]) -> tuple[Cell, ...]:
    return (place(result, standing), contender(standing.contender), interval(standing.step),
            standing.throughput.value if standing.throughput else None,
            _over(result, ranking[0].contender, standing.contender), standing.cpu_per_wall,
            standing.faults_per_step, standing.memory, standing.spread)


def _failed(standing: Standing, width: int) -> tuple[Cell, ...]:
    kind = standing.failure.kind if standing.failure else "no result"
    return ("", contender(standing.contender), Span(kind, "bad")) + (None,) * (width - 3)


def place(result: Result, standing: Standing) -> str:
    """1, or 2= for those who share a place."""
    if standing.place is None:
        return ""
    group = [each.place for each in result.standings if each.tie_group == standing.tie_group and each.place]
    return f"{min(group)}=" if len(group) > 1 else str(standing.place)


def _over(result: Result, leader: str, name: str) -> Interval | float | None:
    """seconds(name) / seconds(leader): exactly 1 for the leader itself."""
    verdict = between(result, leader, name)
    if leader == name:
        return 1.0
    return _ratio(verdict.ratio, verdict.low, verdict.high) if verdict else None


def _ratios(result: Result, ranking: list[Standing]) -> Chart:
    leader = ranking[0].contender
    series = tuple(_point(each.contender, _over(result, leader, each.contender)) for each in ranking)
    return Chart("intervals", f"Time per step relative to {leader}",
                 "The further right, the slower; the bar is the 95 % interval, the band what counts as equal.",
                 series, Axis(f"seconds per step ÷ seconds per step of {leader}", "ratio"), marks=(1.0,),
                 band=result.race.margin)


def _point(name: str, over: Interval | float | None) -> Series:
    if isinstance(over, Interval):
        return Series(name, (over.value,), low=(over.low,), high=(over.high,))
    return Series(name, (over,) if over else ())


def pairs(result: Result) -> Table:
    """Every verdict: ratio = seconds(b) / seconds(a), above 1 where a is faster."""
    columns = (Column("a", "contender"), Column("b", "contender"), Column("Seconds of b over a", "ratio"),
               Column("a is"), Column("Launches", "count"), Column("More time to decide", "duration"),
               Column("Reason"))
    rows = tuple((contender(each.a), contender(each.b), _ratio(each.ratio, each.low, each.high), each.verdict,
                  each.launches, each.seconds_to_decide or None, each.reason) for each in result.verdicts)
    return without_empty(Table("pairs", columns, rows))


def _ratio(value: float | None, low: float | None, high: float | None) -> Interval | None:
    return None if value is None or low is None or high is None else Interval(value, low, high)


