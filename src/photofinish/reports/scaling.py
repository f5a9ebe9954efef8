"""How far from linear several processes are that train one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from photofinish.render.document import (
    Axis,
    Block,
    Chart,
    Column,
    Note,
    Paragraph,
    Section,
    Series,
    Span,
    Table,
    Text,
)
from photofinish.render.quantities import TIMES, ratio_with_interval, write
from photofinish.reports import code_cost
from photofinish.reports.reading import PREDICTION, certified, contender, interval, names
from photofinish.stats.scaling import (
    forecasts,
    one_process,
    process_peaks,
    scalings,
    serial_share,
    to_race_beside,
    weak_scalings,
)
from photofinish.stats.student import confidence
from photofinish.stats.time_split import time_splits
from photofinish.values import Contender, Estimate, Result, Scaling, TimeSplit

SPLIT = ("Where a step goes, in steps looked into after the timed ones (a profiler makes them longer: read the "
         "shares). A process computes or communicates or both; what it communicates alone is either waiting for the "
         "last process to be ready, or the sending itself. Bytes are those that it gives to collectives in a step.")
BEHIND = ("A process that is last to be ready for nearly every collective is a straggler: look at what else its cores "
          "do. Where each is last about as often, they wait for chance.")
FORECAST = ("By Amdahl's law: the serial share of one process' time stays, the rest is divided by their number. What "
            "goes round in a ring is held by it; what grows with every process (messages that take long whatever their "
            "length, waiting for the slowest) is not, so that it says what more processes come to at best. A share of "
            "more than 100 % is that of processes which are slower together than one alone. The intervals are those of "
            "the speed-up that was measured.")


def section(result: Result) -> Section:
    """Empty where every contender is one process."""
    several = [name for name in names(result) if Contender.parse(name).strategy and name in certified(result)]
    lonely = [name for name in several if one_process(result.race, name) is None]
    found = scalings(result.race)
    blocks: list[Block] = []
    if found:
        text = ("The same batch for all: efficiency is the speed of N processes (or devices) over N times that of one "
                "with as many threads as each of them has. They ran one after the other, and are compared launch by "
                "launch.")
        blocks += [Paragraph((text,)), _table(found), *_memory(found, process_peaks(result.race)), _curve(found),
                   Paragraph((FORECAST,)), _forecasts(found)]
        blocks += [table for table in (_held_out(found),) if table.rows]
    blocks += [Note(("How ", contender(name), " scales is seen beside one of its processes: race ",
                     contender(to_race_beside(result.race, name)), ", too.")) for name in lonely]
    if splits := time_splits(result.race):
        blocks += [Paragraph((SPLIT,)), _splits(splits), Paragraph((BEHIND,)), _behind(splits)]
    if code := code_cost.costs(result):
        blocks.append(code_cost.table(code))
    return Section("scaling", "Scaling", tuple(blocks))


def weak(results: Sequence[Result]) -> Section:
    """Of races that differ in the batch: empty where none has one process at its share of the batch of several."""
    found = weak_scalings(each.race for each in results)
    text = ("As much for each process as for one alone: efficiency is the throughput of N processes over N times that "
            "of one with as many threads and as many samples as each of them has.")
    return Section("weak_scaling", "Weak scaling", (Paragraph((text,)), _table(found)) if found else ())


def over_links(results: Sequence[Result]) -> Section:
    """Of races that differ in the link, which is also what is predicted over: empty where none has one process."""
    found = [(each.race.case.link.rate, scaling) for each in results if each.race.case.link
             for scaling in scalings(each.race)]
    told = [{more.processes: more.speedup for more in forecasts(scaling)} for _, scaling in found]
    many = sorted({processes for each in told for processes in each})
    columns = (Column("Contender", "contender"), Column("Link", "speed"), Column("Parts", "count"),
               Column("Speed-up", "ratio"), Column("Efficiency", "percent"),
               *(Column(f"{PREDICTION}: of {processes}", "ratio") for processes in many))
    rows = tuple((contender(scaling.contender), rate, scaling.processes, interval(scaling.speedup),
                  interval(scaling.efficiency), *(interval(each.get(processes)) for processes in many))
                 for (rate, scaling), each in sorted(zip(found, told), key=lambda pair: pair[0][1].contender))
    return Section("scaling", "Scaling", (Table("scaling", columns, rows), Note((FORECAST,))) if rows else ())


def sentences(result: Result) -> tuple[Text, ...]:
    """How each scales, in a sentence."""
    return tuple(_sentence(each) for each in scalings(result.race))


def _sentence(each: Scaling) -> Text:
    times, _, _ = ratio_with_interval(each.speedup.value, each.speedup.low, each.speedup.high)
    bounds = "one launch" if not each.efficiency.level else (
        f"{confidence(each.efficiency.level)} interval {write(each.efficiency.low, 'percent')} to "
        f"{write(each.efficiency.high, 'percent')}, {each.launches} launches")
    return (contender(each.contender), f" is {times}{TIMES} as fast as ", contender(each.against),
            f", which has the threads of one of its {each.processes} parts: an efficiency of ",
            Span(write(each.efficiency.value, "percent"), "strong"), f" ({bounds}).")


def _splits(found: tuple[TimeSplit, ...]) -> Table:
    columns = (Column("Contender", "contender"), Column("Process", "count"), Column("A traced step", "duration"),
               Column("Computing", "percent"), Column("Waiting for another", "percent"), Column("Sending", "percent"),
               Column("Communicating in all", "percent"), Column("of it beside computing", "percent"),
               Column("Sent a step", "bytes"))
    rows = tuple((contender(each.contender), each.rank, each.seconds, each.computing / each.seconds,
                  each.waiting / each.seconds, (each.seconds - each.computing - each.waiting) / each.seconds,
                  each.communicating / each.seconds, each.overlap / each.seconds, each.sent) for each in found)
    return Table("time_split", columns, rows)


def _behind(found: tuple[TimeSplit, ...]) -> Table:
    columns = (Column("Contender", "contender"), Column("Process", "count"),
               Column("Ready after the first, mean", "duration"), Column("Last to be ready", "percent"))
    return Table("behind", columns, tuple((contender(each.contender), each.rank, each.behind, each.last)
                                          for each in found))


def _memory(found: Sequence[Scaling], peaks: Mapping[str, int]) -> tuple[Table, ...]:
    """What a process needs beside one alone: who shares out parameters or slots holds less of them."""
    columns = (Column("Contender", "contender"), Column("Parts", "count"), Column("Peak of a process", "bytes"),
               Column("Peak of one alone", "bytes"), Column("In parts of it", "percent"))
    rows = tuple((contender(each.contender), each.processes, peaks[each.contender], peaks[each.against],
                  peaks[each.contender] / peaks[each.against]) for each in found
                 if peaks.get(each.contender) and peaks.get(each.against))
    return (Table("memory_of_each", columns, rows, "Peak resident memory, of whichever process held most, with the "
                  "allocator as users have it; the libraries that it shares with others included."),) if rows else ()


def _table(found: tuple[Scaling, ...]) -> Table:
    levels = [each.efficiency.level for each in found if each.efficiency.level]
    bounds = f", {confidence(*levels)} interval" if levels else ""
    columns = (Column("Contender", "contender"), Column("Parts", "count"), Column("Batch", "count"),
               Column("One alone", "contender"), Column("Its batch", "count"),
               Column(f"Speed-up{bounds}", "ratio"), Column(f"Efficiency{bounds}", "percent"),
               Column("Launches", "count"))
    rows = tuple((contender(each.contender), each.processes, each.batch, contender(each.against), each.against_batch,
                  interval(each.speedup), interval(each.efficiency), each.launches) for each in found)
    return Table("scaling", columns, rows)


def _curve(found: Sequence[Scaling]) -> Chart:
    """From one process to what is predicted, beside the line of N processes that are N times as fast."""
    most = max(more.processes for each in found for more in forecasts(each))
    series = [Series("linear", (1.0, float(most)), (1.0, float(most)))]
    for each in found:
        points = [(1, Estimate(1.0, 1.0, 1.0)), (each.processes, each.speedup),
                  *((more.processes, more.speedup) for more in forecasts(each))]
        series.append(Series(each.contender, tuple(float(many) for many, _ in points),
                             tuple(at.value for _, at in points), tuple(at.low for _, at in points),
                             tuple(at.high for _, at in points)))
    raced = max(each.processes for each in found)
    return Chart("lines", "Speed-up by the number of processes", f"Behind the mark at {raced} all is {PREDICTION}.",
                 tuple(series), Axis("processes", "count", log=True), Axis("speed-up", "ratio", log=True),
                 marks=(float(raced),))


def _forecasts(found: Sequence[Scaling]) -> Table:
    told = {each.contender: {more.processes: more.speedup for more in forecasts(each)} for each in found}
    many = sorted({processes for each in told.values() for processes in each})
    columns = (Column("Contender", "contender"), Column("Parts", "count"), Column("Serial share", "percent"),
               *(Column(f"{PREDICTION}: speed-up of {processes}", "ratio") for processes in many))
    rows = tuple((contender(each.contender), each.processes, interval(serial_share(each.speedup, each.processes)),
                  *(interval(told[each.contender].get(processes)) for processes in many)) for each in found)
    return Table("forecasts", columns, rows)


def _held_out(found: Sequence[Scaling]) -> Table:
    """What was predicted from fewer processes beside what more of them did."""
    columns = (Column("Contender", "contender"), Column("Parts", "count"),
               Column(f"{PREDICTION}: speed-up", "ratio"), Column("Measured", "ratio"))
    return Table("held_out", columns, tuple(
        (contender(each.contender), more.processes, interval(more.speedup), interval(more.measured))
        for each in found for more in forecasts(each, found) if more.measured is not None))
