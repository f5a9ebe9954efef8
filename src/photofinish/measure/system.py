"""What the operating system says of this process and of the machine around it. Linux; elsewhere the
figures that cannot be had are None or 0 and `doctor` says so."""

import ctypes
import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Dict, NamedTuple, Optional

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
CORES = os.cpu_count() or 1
STATUS = "/proc/self/status"

Counters = NamedTuple("Counters", [("wall", float), ("cpu", float), ("faults", int), ("busy", Optional[float])])


def counters() -> Counters:
    """Seconds of wall clock and own CPU, minor page faults, and CPU seconds the whole machine has used."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Counters(time.perf_counter(), usage.ru_utime + usage.ru_stime, usage.ru_minflt, _machine_busy())


def foreign_share(before: Counters, after: Counters) -> Optional[float]:
    """The share of the machine's CPU time that went to others between two readings; None if unknown."""
    wall = after.wall - before.wall
    if before.busy is None or after.busy is None or wall <= 0:
        return None
    foreign = (after.busy - before.busy) - (after.cpu - before.cpu)
    return max(0.0, foreign / (wall * CORES))


def _machine_busy() -> Optional[float]:
    try:
        with Path("/proc/stat").open() as stat:
            ticks = [int(word) for word in stat.readline().split()[1:9]]
    except OSError:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
    return (user + nice + system + irq + softirq + steal) / float(TICKS)


def reset_peak_memory() -> None:
    """Lets the peak resident set start anew from the present one, where the kernel allows it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """Peak resident set in bytes since the last reset.

    VmHWM and not ru_maxrss: the latter keeps the parent's size across fork and exec.
    """
    return _rows(STATUS).get("VmHWM", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def held() -> Dict[str, Optional[int]]:
    """What this process has now, in bytes (`values.Memory`); None for what cannot be known."""
    mapped = _rows("/proc/self/smaps_rollup")
    return {"resident": mapped.get("Rss", _rows(STATUS).get("VmRSS")), "proportional": mapped.get("Pss"),
            "allocated": _allocated()}


class _Mallinfo(ctypes.Structure):
    """mallinfo(3): counts and bytes of glibc's malloc."""

    _fields_: ClassVar[Any] = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]


def _allocated() -> Optional[int]:
    """What malloc has handed out of its arenas and by mapping; None where it is not glibc's of 2021 or later."""
    try:
        ask = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    ask.restype = _Mallinfo
    found = ask()
    return int(found.uordblks + found.hblkhd)


def _rows(path: str) -> Dict[str, int]:
    """The lines of a file of /proc that tell an amount of memory, in bytes."""
    try:
        with Path(path).open() as file:
            rows = (line.split() for line in file)
            return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) == 3 and row[2] == "kB"}
    except OSError:
        return {}


def stay_on(cores: Any) -> None:
    """Pins this process, and every thread it will make, to those cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
