"""How far from linear several processes are that train one model."""

from __future__ import annotations

from photofinish.render.document import Block, Column, Note, Paragraph, Section, Span, Table, Text
from photofinish.render.quantities import TIMES, ratio_with_interval, write
from photofinish.reports.reading import certified, contender, interval, names
from photofinish.stats.scaling import one_process, scalings, to_race_beside
from photofinish.values import Contender, Result, Scaling


def section(result: Result) -> Section:
    """Empty where every contender is one process."""
    several = [name for name in names(result) if Contender.parse(name).strategy and name in certified(result)]
    lonely = [name for name in several if one_process(result.race, name) is None]
    found = scalings(result.race)
    blocks: list[Block] = []
    if found:
        text = ("The same batch for all: efficiency is the speed of N processes over N times that of one with as many "
                "threads as each of them has. They ran one after the other, and are compared launch by launch.")
        blocks += [Paragraph((text,)), _table(found)]
    blocks += [Note(("How ", contender(name), " scales is seen beside one of its processes: race ",
                     contender(to_race_beside(result.race, name)), ", too.")) for name in lonely]
    return Section("scaling", "Scaling", tuple(blocks))


def sentences(result: Result) -> tuple[Text, ...]:
    """How each scales, in a sentence."""
    return tuple(_sentence(each) for each in scalings(result.race))


def _sentence(each: Scaling) -> Text:
    times, _, _ = ratio_with_interval(each.speedup.value, each.speedup.low, each.speedup.high)
    bounds = "one launch" if not each.efficiency.level else (
        f"{100 * each.efficiency.level:.3g} % interval {write(each.efficiency.low, 'percent')} to "
        f"{write(each.efficiency.high, 'percent')}, {each.launches} launches")
    return (contender(each.contender), f" is {times}{TIMES} as fast as ", contender(each.against),
            f", one process of the {each.processes}: an efficiency of ",
            Span(write(each.efficiency.value, "percent"), "strong"), f" ({bounds}).")


def _table(found: tuple[Scaling, ...]) -> Table:
    columns = (Column("Contender", "contender"), Column("Processes", "count"), Column("One process", "contender"),
               Column("Speed-up, 95 % interval", "ratio"), Column("Efficiency, 95 % interval", "percent"),
               Column("Launches", "count"))
    rows = tuple((contender(each.contender), each.processes, contender(each.against), interval(each.speedup),
                  interval(each.efficiency), each.launches) for each in found)
    return Table("scaling", columns, rows)
