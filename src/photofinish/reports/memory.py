"""How much memory each contender needed, and when."""

from __future__ import annotations

from itertools import accumulate

from photofinish.render.document import Axis, Block, Cell, Chart, Column, Fold, Section, Series, Table
from photofinish.reports.phases import in_order, title
from photofinish.reports.reading import contender, memory_bytes, names, of_task, peaks_of, processes_of, without_empty
from photofinish.values import Memory, Result


def section(result: Result) -> Section:
    blocks: list[Block] = []
    whose = processes_of(names(result))
    for device, heading in ((False, f"Peak resident memory {whose}"), (True, "Peak memory on the device")):
        peaks = memory_bytes(result, device)
        order = [name for name in names(result) if name in peaks]
        if order:
            blocks += [_chart(heading, peaks, order, peaks_of(result.race.case)),
                       _table("device_memory" if device else "memory", peaks, order)]
    return Section("memory", "Memory", (*blocks, *_held(result)))


def _phases(peaks: dict[str, dict[str, int]], order: list[str]) -> list[str]:
    """Compiling, the first step and warm-up are one request of a worker, and have one peak."""
    return [each for each in in_order(phase for name in order for phase in peaks[name])
            if each not in ("compile", "warm_up")]


def _chart(heading: str, peaks: dict[str, dict[str, int]], order: list[str], whose: str) -> Chart:
    """By how much each phase raised the peak."""
    phases = _phases(peaks, order)
    series = []
    for name in order:
        highest = list(accumulate((peaks[name].get(phase, 0) for phase in phases), max))
        series += [Series(name, (float(high - before),), group=title(phase))
                   for phase, high, before in zip(phases, highest, [0, *highest]) if high > before]
    return Chart("bars", f"{heading}, by phase", f"What each phase added to the peak, {whose}.", tuple(series),
                 Axis("peak memory", "bytes"))


def _table(name: str, peaks: dict[str, dict[str, int]], order: list[str]) -> Table:
    phases = _phases(peaks, order)
    columns = (Column("Contender", "contender"), *(Column(title(phase).capitalize(), "bytes") for phase in phases),
               Column("Peak", "bytes"))
    rows = tuple((contender(each), *(peaks[each].get(phase) for phase in phases), max(peaks[each].values()))
                 for each in order)
    peak = "The peak so far at the end of each phase" if name == "device_memory" else "The peak within each phase"
    return Table(name, columns, rows, f"{peak}. First step: with compiling and warm-up.")


def _held(result: Result) -> tuple[Block, ...]:
    """What is left when a phase is over, by those who count."""
    found: list[tuple[Cell, ...]] = []
    for name in names(result):
        looks = {phase: each for each in result.race.memory if each.contender == name
                 and (phase := of_task(each.phase, result.race.case.task)) and each.resident is not None}
        found += [(contender(name), title(phase), *_counted(looks[phase])) for phase in in_order(looks)]
    if not found:
        return ()
    columns = (Column("Contender", "contender"), Column("After"), Column("Resident", "bytes"),
               Column("Proportional", "bytes"), Column("malloc", "bytes"), Column("Device allocator", "bytes"),
               Column("Its peak", "bytes"))
    caption = ("Resident: pages in memory, shared ones whole. Proportional: shared ones divided by those who share "
               "them. malloc: what it has handed out; the rest is code, files and what the allocator keeps.")
    table = without_empty(Table("held", columns, tuple(found), caption))
    return (Fold("What is held after each phase", (table,)),)


def _counted(memory: Memory) -> tuple[Cell, ...]:
    return memory.resident, memory.proportional, memory.allocated, memory.device, memory.device_peak
