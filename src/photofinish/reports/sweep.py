"""Throughput and latency against the batch: curves, knees, the best batch under a bound, who is faster where."""

from __future__ import annotations

import math
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
    Fold,
    Interval,
    Note,
    Paragraph,
    Quantity,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import write
from photofinish.reports import audit, certificate, energy, failures, machine, scaling, verdict
from photofinish.reports.json import consumed, estimated, finite, scaled
from photofinish.reports.race import describe
from photofinish.reports.reading import (
    TASKS,
    between,
    contender,
    depends,
    interval,
    listed,
    ranked,
    unproven,
    without_empty,
)
from photofinish.stats.batches import GAIN, SHARES, Curve, Knee, Point, curves, rivals
from photofinish.stats.interaction import differences
from photofinish.stats.scaling import weak_scalings
from photofinish.stats.verdict import compared, left
from photofinish.values import Estimate, Result, to_json

LONGEST = 0.9  # the share of steps whose latency is drawn
FARTHEST = 2.0  # times that a band reaches from its line, so that it leaves others room


def document(results: Sequence[Result], bound: float | None = None, share: float = LONGEST,
             brief: bool = False) -> Document:
    """The report of the races of one sweep. `bound` is the latency in seconds that `share` of the steps should keep."""
    results = sorted(results, key=lambda each: each.race.case.batch)
    found = curves(results, bound, share)
    case = results[0].race.case
    sections = [_headline(results, found, bound, share), _throughput(results, found),
                _latency(results, found, bound, share), _knees(found), _energy(results, found),
                _failures(results), _fastest(results), scaling.weak(results), _certificate(results)]
    if not brief:
        probed = next((each for each in results if each.race.audit), results[0])
        sections += [audit.section(probed), machine.section(probed)]
    what = TASKS[case.task]
    sizes = f"batches {', '.join(str(each.race.case.batch) for each in results)}"
    return Document(f"{case.model}, {what} by batch", describe(case).replace(f"batch {case.batch}", sizes, 1),
                    f"{what} by batch", _sentence(results, found, bound, share),
                    tuple(each.contender for each in found), tuple(each for each in sections if each.blocks))


def _headline(results: Sequence[Result], found: Sequence[Curve], bound: float | None, share: float) -> Section:
    """The most that can be had, under the bound if there is one, and from where on larger batches hardly pay."""
    label, tone = ("NOTHING TIMED", "bad") if not any(each.timed for each in found) else \
        ("NOT COMPARABLE", "bad") if unproven(results) else \
        ("NO BATCH", "open") if bound is not None and not any(each.best for each in found) else ("BEST BATCH", "good")
    details = tuple(_told(each) for each in found if each.knee is not None)
    return Section("sweep", "", (Banner(tone, label, _sentence(results, found, bound, share), details),
                                  *verdict.remarks(results)))


def _sentence(results: Sequence[Result], found: Sequence[Curve], bound: float | None, share: float) -> Text:
    unit = results[0].race.case.unit
    choices = [(each, point) for each in found if (point := _chosen(each, bound)) is not None]
    if not any(each.timed for each in found):
        return ("No contender could be timed at any batch.",)
    if (barred := unproven(results)) is not None:
        return verdict.sentence(barred)
    lead = () if bound is None else (f"With {write(share, 'percent')} of the steps within ",
                                     Quantity(bound, "duration"), ", ")
    if not choices:
        return (f"That {write(share, 'percent')} of the steps end within ", Quantity(bound, "duration"),
                " is shown of no contender at any batch.")
    best, point = max(choices, key=lambda each: each[1].throughput.value)  # type: ignore[union-attr]
    assert point.throughput is not None
    return (*lead, contender(best.contender), " gets furthest: ",
            Span(f"{write(point.throughput.value, 'number')} {unit} a second", "strong"), f" at batch {point.batch}",
            *_rivals(results, best.contender, point.batch, choices), ".")


def _rivals(results: Sequence[Result], best: str, batch: int, choices: Sequence[tuple[Curve, Point]]) -> Text:
    """Those that it is not shown to be faster than at that batch, nor to get further than at the best of their own."""
    result = next(each for each in results if each.race.case.batch == batch)
    here = [each.contender for each in ranked(result) if each.contender != best
            and ((told := between(result, best, each.contender)) is None or told.verdict != "FASTER")]
    others = [(each.contender, point.batch) for each, point in choices if point.batch != batch]
    there = [f"{name} at batch {size}" for name, size in rivals(results, (best, batch), others)]
    text: Text = (", where it is not shown to be faster than ", *listed(list(map(contender, here)))) if here else ()
    if there:
        text += (", and" if here else ", but", " is not shown to get further than ", *listed(there))
    return text


def _chosen(curve: Curve, bound: float | None) -> Point | None:
    """The point of highest throughput, of those that keep the bound where there is one."""
    able = [each for each in curve.timed if bound is None or each.batch == curve.best]
    return max(able, key=lambda each: each.throughput.value, default=None)  # type: ignore[union-attr]


def _told(curve: Curve) -> Text:
    knee, last = curve.knee, curve.timed[-1].batch
    assert knee is not None
    told = _range(knee, last)
    sure = f" (95 %: {told})." if told else "."
    if knee.batch is None:
        return (contender(curve.contender), f" still gains {write(GAIN, 'percent')} or more up to batch {last}{sure}")
    return (contender(curve.contender), f" gains less than {write(GAIN, 'percent')} beyond batch ",
            Span(str(knee.batch), "strong"), sure)


def _range(knee: Knee, last: int) -> str:
    """8; 8 to 16; 8 or more, where no batch is shown to be enough; "" where one launch leaves it open."""
    if knee.launches < 2:
        return ""
    if knee.low is None:
        return f"beyond {last}"
    return f"{knee.low} or more" if knee.high is None else str(knee.low) if knee.low == knee.high \
        else f"{knee.low} to {knee.high}"


def _failures(results: Sequence[Result]) -> Section:
    """A line each; logs and commands are a click away."""
    found = [(each.race.case.batch, failure) for each in results for failure in each.race.failures]
    of_all = tuple(dict.fromkeys(block for _, each in found if not each.contender for block in failures.told(each)))
    failed = [(batch, failure) for batch, failure in found if failure.contender]
    if not failed:
        return Section("failures", "What failed", of_all)
    columns = (Column("Contender", "contender"), Column("Batch", "count"), Column("Failed"), Column("Message"))
    table = Table("failures", columns, tuple((contender(failure.contender), batch, Span(failure.kind, "bad"),
                                              failure.message) for batch, failure in failed))
    blocks = tuple(block for each in results for block in failures.section(each).blocks)
    logs = Fold("Logs, and the commands that show it again", blocks)
    return Section("failures", "What failed", (*of_all, table, logs))


def _throughput(results: Sequence[Result], found: Sequence[Curve]) -> Section:
    unit = results[0].race.case.unit
    series = tuple(_series(each, lambda point: point.throughput) for each in found if each.timed)
    if not series:
        return Section("throughput", "", ())
    chart = Chart("lines", "Throughput by batch", "The band is the 95 % interval over launches, to twice the "
                  "figure at most.", series,
                  Axis("batch", "count", log=True), Axis(f"{unit} a second"))
    whole = _table(results, found)
    few = [column.title for column in whole.columns if column.title not in map(_step, SHARES)]
    return Section("throughput", "Throughput", (chart, _columns(whole, "throughput", few, "Intervals of 95 % over "
                   "launches."), Fold("Every figure", (whole,))))


def _columns(table: Table, name: str, titles: Sequence[str], caption: str) -> Table:
    """The same table less the columns of other titles."""
    kept = [i for i, column in enumerate(table.columns) if column.title in titles]
    return Table(name, tuple(table.columns[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in table.rows),
                 caption)


def _step(share: float) -> str:
    return f"{write(share, 'percent')} of steps within"


def _series(curve: Curve, figure: Callable[[Point], Estimate | None]) -> Series:
    points = [(each.batch, estimate) for each in curve.timed if (estimate := figure(each)) is not None]
    told = all(estimate.level and math.isfinite(estimate.high) for _, estimate in points)
    return Series(curve.contender, tuple(float(batch) for batch, _ in points),
                  tuple(estimate.value for _, estimate in points),
                  tuple(max(each.low, each.value / FARTHEST) for _, each in points) if told else (),
                  tuple(min(each.high, each.value * FARTHEST) for _, each in points) if told else ())


def _table(results: Sequence[Result], found: Sequence[Curve]) -> Table:
    unit = results[0].race.case.unit
    columns = (Column("Contender", "contender"), Column("Batch", "count"), Column(f"{unit.capitalize()}/s", "number"),
               Column("Time per sample", "duration"), Column("Gain over the batch before", "ratio"),
               *(Column(_step(each), "duration") for each in SHARES),
               Column("Peak memory", "bytes"), Column("On the device", "bytes"), Column("Failed"))
    rows = tuple(_row(each.contender, point) for each in found for point in each.points)
    copies = "" if results[0].race.case.device == "cpu" else " Batches lie on the device before a step begins."
    return without_empty(Table("batches", columns, rows, "Intervals of 95 %. Those of throughput, time and gain are "
                               "over launches; those of a step's quantile are of the steps seen, too, with a dash "
                               "where there are too few of them." + copies))


def _row(name: str, point: Point) -> tuple[Cell, ...]:
    return (contender(name), point.batch, interval(point.throughput), interval(point.sample), interval(point.gain),
            *(_quantile(point.latencies.get(each)) for each in SHARES), point.memory, point.device_memory,
            Span(point.failure.kind, "bad") if point.failure else None)


def _quantile(estimate: Estimate | None) -> Cell:
    """None where the steps do not bound it from above: its value would be the slowest that happened to be seen."""
    if estimate is None or not math.isfinite(estimate.high):
        return None
    return interval(estimate)


def _latency(results: Sequence[Result], found: Sequence[Curve], bound: float | None, share: float) -> Section:
    series = [_series(each, lambda point: point.latencies.get(LONGEST)) for each in found if each.timed]
    if not series:
        return Section("latency", "", ())
    batches = sorted({x for each in series for x in each.x})
    if bound is not None:
        series.append(Series("the bound", tuple(batches), (bound,) * len(batches)))
    name = write(LONGEST, "percent")
    chart = Chart("lines", f"Time within which {name} of the steps end, by batch", "A step answers a whole batch, so "
                  "this is the least that a sample waits. The band is the 95 % interval, to twice the figure at most.",
                  tuple(series), Axis("batch", "count", log=True), Axis("seconds of a step", "duration", log=True))
    titles = ("Contender", "Batch", *map(_step, SHARES))
    blocks: list[Block] = [chart, _columns(_table(results, found), "latency", titles, "95 % intervals, of the steps "
                                           "seen and of how launches differ; a dash where there are too few for one.")]
    if bound is not None:
        blocks.append(_bound(found, bound, share))
    return Section("latency", "Latency", tuple(blocks))


def _bound(found: Sequence[Curve], bound: float, share: float) -> Table:
    columns = (Column("Contender", "contender"), Column("Batch", "count"), Column("Steps seen", "count"),
               Column("Longer than the bound", "count"), Column("Bound is"), Column("Steps still needed", "count"))
    rows = tuple((contender(each.contender), point.batch, claim.seen, claim.over, claim.word,
                  claim.more or None if claim.word == "UNDECIDED" else None)
                 for each in found for point in each.points if (claim := point.within) is not None)
    return without_empty(Table("bound", columns, rows, f"Whether {write(share, 'percent')} of all steps end within "
                               f"{write(bound, 'duration')}, with 95 % confidence (docs/concepts/latency.md). "
                               "Where it is undecided and no more steps are needed, launches differ too much, or one "
                               "alone was run, which says nothing of others."))


def _knees(found: Sequence[Curve]) -> Section:
    curved = [each for each in found if each.knee is not None]
    if not curved:
        return Section("knee", "", ())
    columns = (Column("Contender", "contender"), Column(f"Gain under {write(GAIN, 'percent')} beyond"),
               Column("95 % range"), Column("Highest throughput at", "count"), Column("Best within the bound", "count"),
               Column("Gain of a doubling", "ratio"), Column("Rising, p", "scientific"),
               Column("Gain changes most at", "count"), Column("Doubling before", "ratio"),
               Column("Doubling after", "ratio"))
    return Section("knee", "The knee", (without_empty(Table("knee", columns, tuple(map(_knee, curved)), (
        "Rising: Page's test that throughput grows with the batch. Gain of a doubling: Theil-Sen slope over all "
        "batches, 95 % interval. Gain changes most: the change point of the gains, where two levels tell more than "
        "one."))),))


def _knee(curve: Curve) -> tuple[Cell, ...]:
    knee, trend, bend = curve.knee, curve.trend, curve.bend
    assert knee is not None
    top = _chosen(curve, None)
    last = curve.timed[-1].batch
    return (contender(curve.contender), str(knee.batch or f"beyond {last}"), _range(knee, last) or None,
            top.batch if top else None, curve.best, interval(trend.doubling) if trend else None,
            trend.chance if trend else None, bend.batch if bend else None, bend.before if bend else None,
            bend.after if bend else None)


def _energy(results: Sequence[Result], found: Sequence[Curve]) -> Section:
    """Joules by batch, or why they were not measured: each batch is a race that watched the machine idle before it."""
    case, asked = results[0].race.case, [each.race.metering for each in results if each.race.metering is not None]
    series = tuple(_series(each, _joules) for each in found if any(map(_joules, each.timed)))
    if not asked or not series:
        return Section("energy", "Energy" if asked else "", (Paragraph(energy.missing(asked[0])),) if asked else ())
    chart = Chart("lines", f"Energy per {energy.one(case)} by batch", "Idle power included. The band is the 95 % "
                  "interval over launches, to twice the figure at most.", series, Axis("batch", "count", log=True),
                  Axis(f"energy per {energy.one(case)}", "energy"))
    columns = (Column("Contender", "contender"), Column("Batch", "count"),
               Column(f"Per {energy.one(case)}", "energy"), Column("Of it idle", "energy"),
               Column("Less idle", "energy"), Column("Power (W)", "number"), Column("Device busy", "percent"),
               Column("Others' share of the CPU, at most", "percent"))
    rows = tuple((contender(curve.contender), point.batch, interval(used.joules), used.idle, interval(used.net),
                  used.watts, used.busy, used.foreign)
                 for curve in found for point in curve.timed if (used := point.energy) is not None)
    return Section("energy", "Energy", (Paragraph(energy.told(asked[0], case.task)), chart, without_empty(
        Table("energy", columns, rows, "Intervals of 95 % over launches. Idle power was measured anew before the "
                                       "rehearsal of each batch; the text has that of the smallest."))))


def _joules(point: Point) -> Estimate | None:
    return None if point.energy is None else point.energy.joules


def _fastest(results: Sequence[Result]) -> Section:
    """The verdict at each batch, and whether the ratio depends on it."""
    if not any(len(ranked(each)) > 1 for each in results):
        return Section("fastest", "", ())
    columns = (Column("Batch", "count"), Column("Verdict"), Column("First"), Column("Next"),
               Column("Seconds of the next over the first", "ratio"))
    table = Table("fastest", columns, tuple(map(_first, results)), "Each batch is a race of its own, judged by itself.")
    return Section("fastest", "Who is fastest at which batch", (table, *_depends(results)))


def _first(result: Result) -> tuple[Cell, ...]:
    order = ranked(result)
    told = between(result, order[0].contender, order[1].contender) if len(order) > 1 else None
    ratio = Interval(told.ratio, told.low, told.high) if told and told.ratio and told.low and told.high else None
    return (result.race.case.batch, verdict.outcome(result), *(contender(each.contender) for each in order[:2]),
            *([None] * (2 - len(order[:2]))), ratio)


def _depends(results: Sequence[Result]) -> Iterator[Block]:
    names = results[0].race.contenders
    if len(names) != 2:
        return
    samples = [each for result in results
               if compared(result, *names) and len(each := differences(result.race, *names)) > 1]
    yield from depends("batch", samples, left(result.race for result in results))


def _certificate(results: Sequence[Result]) -> Section:
    """The proof of the smallest batch, and how far it reaches."""
    found = next((each for each in results if each.race.certificates), results[0])
    section = certificate.section(found)
    proven = sorted({each.batch for each in found.race.certificates})
    if not proven:
        return section
    reach = Note((f"Proven at batch {', '.join(map(str, proven))}. The graph, the weights and the code are the same at "
                  "every batch of the sweep; a kernel that a library chooses for another batch is not proven apart.",))
    return Section(section.name, section.title, (reach, *section.blocks))


def as_json(results: Sequence[Result], bound: float | None = None, share: float = LONGEST) -> dict[str, Any]:
    """The documented object of `photofinish sweep --json`."""
    results = sorted(results, key=lambda each: each.race.case.batch)
    case = results[0].race.case
    found = {
        "model": case.model, "digest": case.digest, "task": case.task, "unit": case.unit, "regime": case.regime,
        "device": case.device, "threads": case.threads,
        "batches": [each.race.case.batch for each in results], "bound": bound, "share": share, "gain": GAIN,
        "comparable": any(each.comparable for each in results) and not unproven(results),
        "curves": [_curve_json(each) for each in curves(results, bound, share)],
        "weak_scaling": [scaled(each) for each in weak_scalings(each.race for each in results)],
        "races": [{"id": each.race.id, "batch": each.race.case.batch, "outcome": verdict.outcome(each),
                   "verdicts": to_json(each.verdicts), "metering": to_json(each.race.metering),
                   "warnings": list(each.warnings), "skipped": to_json(each.race.skipped)} for each in results],
    }
    return dict(finite(found))


def _curve_json(curve: Curve) -> dict[str, Any]:
    return {"contender": curve.contender, "points": [_point_json(each) for each in curve.points],
            "knee": to_json(curve.knee), "best": curve.best, "bend": to_json(curve.bend),
            "trend": curve.trend and {"chance": curve.trend.chance, "doubling": estimated(curve.trend.doubling)}}


def _point_json(point: Point) -> dict[str, Any]:
    return {"batch": point.batch, "seconds_per_step": estimated(point.step),
            "seconds_per_sample": estimated(point.sample), "throughput": estimated(point.throughput),
            "gain": estimated(point.gain),
            "latency": {f"p{100 * each:g}": estimated(point.latencies.get(each)) for each in SHARES},
            "within": to_json(point.within), "memory": point.memory,
            "device_memory": point.device_memory, "energy": consumed(point.energy), "failure": to_json(point.failure)}
