"""Who came where, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.render.document import (
    Axis,
    Block,
    Cell,
    Chart,
    Column,
    Fold,
    Interval,
    Note,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.reports.reading import (
    between,
    certified,
    contender,
    formats,
    interval,
    listed,
    measure,
    names,
    peaks_of,
    processes_of,
    ranked,
    timed,
    without_empty,
)
from photofinish.stats.student import confidence
from photofinish.values import Contender, Result, Standing, Verdict


def section(result: Result) -> Section:
    ranking = ranked(result)
    title = "Standings" if result.comparable or not timed(result) else "Times, which must not be compared"
    blocks: list[Block] = [table(result)] if result.standings else []
    blocks += [Note(each) for each in (_grouping(result), _alternating(result)) if each]
    if len(ranking) > 1:
        far = {each.contender for each in result.race.stragglers}  # they would leave the others no room
        overs = [(each.contender, _over(result, ranking[0].contender, each.contender)) for each in ranking
                 if each.contender not in far]
        points = tuple(_point(name, over) for name, over in overs if over is not None)
        blocks += [_ratios(result, ranking[0].contender, points)] if len(points) > 1 else []
        blocks.append(Fold("Every pair", (pairs(result),)))
    return Section("standings", title, tuple(blocks))


def _grouping(result: Result) -> Text:
    """How a field was divided that did not fit in memory."""
    sharing = [[group for group in each.groups if len(group) > 1] for each in result.race.launches]
    divided = [groups for groups in sharing if len(groups) > 1]
    if not divided:
        return ()
    anchors = dict.fromkeys(name for groups in divided for name in groups[0] if all(name in each for each in groups))
    counts = sorted({len(groups) for groups in divided})
    many = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return (f"The contenders did not fit in memory together: {len(divided)} of {len(result.race.launches)} launches "
            f"ran them in {many} groups, drawn anew for each pair of launches, with ",
            *listed([contender(name) for name in anchors]), " in each. In a launch in which two did not meet, "
            "they are compared through it.")


def _alternating(result: Result) -> Text:
    """Who was alive alone, and how it was compared then."""
    if result.race.case.device != "cpu" and len(result.race.contenders) > 1 and any(
            len(each.groups) > 1 and all(len(group) == 1 for group in each.groups) for each in result.race.launches):
        return ("The memory of the device does not hold the contenders together: they took turns, each alone, and are "
                "compared launch by launch.",)
    alone = [each.contender for each in timed(result) if Contender.parse(each.contender).strategy]
    if not alone or len(timed(result)) < 2:
        return ()
    return (*listed([contender(name) for name in alone]), " cannot be stopped while others run: launches took "
            "turns with theirs, and are compared one by one.")


def table(result: Result) -> Table:
    ranking = ranked(result)
    columns = (Column("Place"), Column("Contender", "contender"), Column("Certified at"),
               Column(f"{_title(result)}, 95 % interval", "duration"),
               Column(f"{result.race.case.unit.capitalize()}/s", "number"), Column("Time over fastest", "ratio"),
               Column("Tie group", "count"), Column("CPU cores used", "number"),
               Column("Page faults per step", "number"), Column("Peak memory", "bytes"),
               Column("On the device", "bytes"), Column("Scatter of launches", "percent"))
    on_device = any(each.device_memory for each in result.standings)
    rows = tuple(_row(result, each, ranking, on_device) for each in result.standings)
    caption = "A place is one more than the number of those shown to be faster. " if len(ranking) > 1 else ""
    caption += "A tie group has all that are not shown to be slower than its first. " if len(ranking) > 2 else ""
    scattering = measure(result.race.case).replace("time per step", "step time")
    levels = _levels(result, ranking[0].contender, [each.contender for each in ranking]) if len(ranking) > 1 else ""
    caption += f"Time over fastest: intervals of the verdicts{levels}. " if levels else ""
    if any(each.spread is not None for each in result.standings):
        caption += f"Scatter: standard deviation of the {scattering} between launches, each in a fresh process. "
    if any(each.memory is not None for each in result.standings):
        caption += f"Peak memory: {processes_of(names(result))}, {peaks_of(result.race.case)}"
        caption += "; on the device: of what its framework's allocator gave out." if on_device else "."
    return without_empty(Table("standings", columns, rows, caption.rstrip()))


def _row(result: Result, standing: Standing, ranking: list[Standing], on_device: bool) -> tuple[Cell, ...]:
    return (place(result, standing), contender(standing.contender), _format(result, standing.contender),
            interval(standing.time),
            standing.throughput.value if standing.throughput else None,
            over_leader(result, standing.contender),
            1 + standing.tie_group if standing.tie_group is not None and len(ranking) > 2 else None,
            standing.cpu_per_wall, None if on_device else standing.faults_per_step,  # next to nothing of a GPU's step
            standing.memory, standing.device_memory, standing.spread)


def place(result: Result, standing: Standing) -> Cell:
    """1, or 2= for those who share a place, or what stopped a contender."""
    if standing.failure is not None:
        return Span(standing.failure.kind, "bad")
    if standing.place is None:
        return None
    shared = sum(each.place == standing.place for each in result.standings) > 1
    return f"{standing.place}=" if shared else str(standing.place)


def _format(result: Result, name: str) -> str | None:
    """The format of its certificate, told where not all have the same."""
    coarse = formats(result)
    return coarse.get(name, result.race.case.precision if name in certified(result) else None) if coarse else None


def over_leader(result: Result, name: str) -> Interval | float | None:
    """The contender's time over that of the fastest, where there is one."""
    ranking = ranked(result)
    return _over(result, ranking[0].contender, name) if ranking else None


def _over(result: Result, leader: str, name: str) -> Interval | float | None:
    """seconds(name) / seconds(leader): exactly 1 for the leader itself."""
    verdict = between(result, leader, name)
    if leader == name:
        return 1.0
    return _ratio(verdict.ratio, verdict.low, verdict.high) if verdict else None


def _title(result: Result) -> str:
    name = measure(result.race.case)
    return name[0].upper() + name[1:]


def _ratios(result: Result, leader: str, points: tuple[Series, ...]) -> Chart:
    of = measure(result.race.case).replace("time per step", "seconds per step")
    levels = _levels(result, leader, [each.name for each in points if each.low])
    return Chart("intervals", f"{_title(result)} relative to {leader}",
                 f"The further right, the slower; the bar is the interval of its verdict{levels}, the band what counts "
                 "as equal.",
                 points, Axis(f"{of} ÷ {of} of {leader}", "ratio"), marks=(1.0,), band=result.race.margin)


def _levels(result: Result, leader: str, others: Sequence[str]) -> str:
    """How sure these are: (95 %); (98.3 to 99.2 %), since Holm's procedure may come to a level for each."""
    verdicts = (between(result, leader, name) for name in others)
    levels = [each.level for each in verdicts if each is not None and each.low is not None]
    return f" ({confidence(*levels)})" if levels else ""


def _point(name: str, over: Interval | float) -> Series:
    if isinstance(over, Interval):
        return Series(name, (over.value,), low=(over.low,), high=(over.high,))
    return Series(name, (over,))


def pairs(result: Result) -> Table:
    """Every verdict: ratio = seconds(b) / seconds(a), above 1 where a is faster."""
    columns = (Column("a", "contender"), Column("b", "contender"), Column("Seconds of b over a", "ratio"),
               Column("a is"), Column("Certified at"), Column("Launches", "count"),
               Column("More time to decide", "duration"), Column("Reason"))
    rows = tuple((contender(each.a), contender(each.b), _ratio(each.ratio, each.low, each.high), each.verdict,
                  _formats(result, each), each.launches, each.seconds_to_decide or None, each.reason)
                 for each in result.verdicts)
    return without_empty(Table("pairs", columns, rows))


def _formats(result: Result, verdict: Verdict) -> str | None:
    both = [_format(result, name) for name in (verdict.a, verdict.b)]
    return " and ".join(dict.fromkeys(each for each in both if each)) or None


def _ratio(value: float | None, low: float | None, high: float | None) -> Interval | None:
    return None if value is None or low is None or high is None else Interval(value, low, high)


