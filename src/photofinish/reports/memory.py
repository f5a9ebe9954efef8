"""How much memory each contender needed, and when."""

from __future__ import annotations

from photofinish.render.document import Axis, Block, Chart, Column, Section, Series, Table
from photofinish.reports.phases import in_order, title
from photofinish.reports.reading import contender, memory_bytes, names
from photofinish.values import Result


def section(result: Result) -> Section:
    blocks: list[Block] = []
    for device, heading in ((False, "Peak resident memory of the process"), (True, "Peak memory on the device")):
        peaks = memory_bytes(result, device)
        order = [name for name in names(result) if name in peaks]
        if order:
            blocks += [_chart(heading, peaks, order), _table("device_memory" if device else "memory", peaks, order)]
    return Section("memory", "Memory", tuple(blocks))


def _chart(heading: str, peaks: dict[str, dict[str, int]], order: list[str]) -> Chart:
    series = tuple(Series(name, (float(max(peaks[name].values())),)) for name in order)
    return Chart("bars", heading, "By the end of warm-up, with the allocator as users have it.", series,
                 Axis("peak memory", "bytes"))


def _table(name: str, peaks: dict[str, dict[str, int]], order: list[str]) -> Table:
    phases = in_order(phase for each in order for phase in peaks[each])
    columns = (Column("Contender", "contender"), *(Column(f"After {title(phase)}", "bytes") for phase in phases),
               Column("Peak", "bytes"))
    rows = tuple((contender(each), *(peaks[each].get(phase) for phase in phases), max(peaks[each].values()))
                 for each in order)
    return Table(name, columns, rows, "The peak so far at the end of each phase.")
