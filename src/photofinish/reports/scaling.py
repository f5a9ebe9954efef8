"""How far from linear several processes are that train one model."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.render.document import Block, Column, Note, Paragraph, Section, Span, Table, Text
from photofinish.render.quantities import TIMES, ratio_with_interval, write
from photofinish.reports import code_cost
from photofinish.reports.reading import certified, contender, interval, names
from photofinish.stats.scaling import one_process, scalings, to_race_beside, weak_scalings
from photofinish.stats.time_split import time_splits
from photofinish.values import Contender, Result, Scaling, TimeSplit

SPLIT = ("Where a step goes, in steps looked into after the timed ones (a profiler makes them longer: read the "
         "shares). A process computes or communicates or both; what it communicates alone is either waiting for the "
         "last process to be ready, or the sending itself. Bytes are those that it gives to collectives in a step.")


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
        blocks += [Paragraph((text,)), _table(found)]
    blocks += [Note(("How ", contender(name), " scales is seen beside one of its processes: race ",
                     contender(to_race_beside(result.race, name)), ", too.")) for name in lonely]
    if splits := time_splits(result.race):
        blocks += [Paragraph((SPLIT,)), _splits(splits)]
    if code := code_cost.costs(result):
        blocks.append(code_cost.table(code))
    return Section("scaling", "Scaling", tuple(blocks))


def weak(results: Sequence[Result]) -> Section:
    """Of races that differ in the batch: empty where none has one process at its share of the batch of several."""
    found = weak_scalings(each.race for each in results)
    text = ("As much for each process as for one alone: efficiency is the throughput of N processes over N times that "
            "of one with as many threads and as many samples as each of them has.")
    return Section("weak_scaling", "Weak scaling", (Paragraph((text,)), _table(found)) if found else ())


def sentences(result: Result) -> tuple[Text, ...]:
    """How each scales, in a sentence."""
    return tuple(_sentence(each) for each in scalings(result.race))


def _sentence(each: Scaling) -> Text:
    times, _, _ = ratio_with_interval(each.speedup.value, each.speedup.low, each.speedup.high)
    bounds = "one launch" if not each.efficiency.level else (
        f"{100 * each.efficiency.level:.3g} % interval {write(each.efficiency.low, 'percent')} to "
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


def _table(found: tuple[Scaling, ...]) -> Table:
    columns = (Column("Contender", "contender"), Column("Parts", "count"), Column("Batch", "count"),
               Column("One alone", "contender"), Column("Its batch", "count"),
               Column("Speed-up, 95 % interval", "ratio"), Column("Efficiency, 95 % interval", "percent"),
               Column("Launches", "count"))
    rows = tuple((contender(each.contender), each.processes, each.batch, contender(each.against), each.against_batch,
                  interval(each.speedup), interval(each.efficiency), each.launches) for each in found)
    return Table("scaling", columns, rows)
