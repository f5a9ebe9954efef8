"""The largest batch of each contender that fits into memory, and what was tried to find it."""

from __future__ import annotations

from collections.abc import Sequence

from photofinish.render.document import Block, Cell, Column, Fold, Section, Table
from photofinish.render.quantities import write
from photofinish.reports.reading import contender
from photofinish.values import Contender, LargestBatch, Result

ON_JAX = ("jax", "keras-jax")
_HELD = {"cgroup": "a control group, which counts the pages in use (cgroup)",
         "RLIMIT_DATA": "a limit of the process on private memory that may be written, used or not (RLIMIT_DATA)",
         "device": "the device itself"}


def section(result: Result) -> Section:
    found = result.race.largest
    return Section("largest-batch", "The largest batch that fits", tuple(blocks(found)) if found else ())


def blocks(found: Sequence[LargestBatch]) -> list[Block]:
    return [table(found), Fold("Every batch that was tried", (_trials(found),))]


def table(found: Sequence[LargestBatch]) -> Table:
    columns = (Column("Contender", "contender"), Column("Task"), Column("Largest batch", "count"),
               Column("Does not fit", "count"), Column("Peak memory at it", "bytes"), Column("Tried", "count"))
    rows = tuple(_row(each) for each in found)
    loose = [each.contender for each in found if not each.exact]
    caption = (f"{_limit(found)} Sizes with five significant bits, 3 to 6 % apart, each in a fresh process that "
               "gives back what it frees (as any does with MALLOC_MMAP_THRESHOLD_=131072 in its environment).")
    return Table("largest_batch", columns, rows, caption + (
        f" Not narrowed down to the next size: {', '.join(loose)}." if loose else ""))


def _limit(found: Sequence[LargestBatch]) -> str:
    held = " or ".join(dict.fromkeys(_HELD[trial.held] for each in found for trial in each.trials))
    sizes = {each.limit for each in found if each.limit is not None}
    above = (" The peak may be above it: it has libraries, too, which count where they were read first."
             if any(trial.held == "cgroup" for each in found for trial in each.trials) else "")
    if any(trial.held == "device" for each in found for trial in each.trials) and any(
            Contender.parse(each.contender).framework in ON_JAX for each in found):
        above += " JAX takes three quarters of a device at most, unless XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise."
    return f"Limit: {' or '.join(write(size, 'bytes') for size in sizes) + ', by ' if sizes else ''}{held}.{above}"


def _row(found: LargestBatch) -> tuple[Cell, ...]:
    peak = max((each.device_memory or each.memory for each in found.trials if each.batch == found.batch), default=None)
    return contender(found.contender), found.task, found.batch, found.beyond, peak, len(found.trials)


def _trials(found: Sequence[LargestBatch]) -> Table:
    columns = (Column("Contender", "contender"), Column("Batch", "count"), Column("Fits", "check"),
               Column("Peak memory", "bytes"), Column("On the device", "bytes"), Column("Took", "duration"),
               Column("Ended in"))
    rows = tuple((contender(each.contender), trial.batch, trial.fits, trial.memory or None, trial.device_memory,
                  trial.seconds, trial.kind and f"{trial.kind}: {trial.message[:80]}")
                 for each in found for trial in each.trials)
    return Table("trials", columns, rows)
