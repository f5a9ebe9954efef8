"""What the operating system says of this process and of the machine around it. Linux; elsewhere the
figures that cannot be had are None or 0 and `doctor` says so."""

import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Dict, NamedTuple, Optional

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
CORES = os.cpu_count() or 1

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
    return _status().get("VmHWM", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _status() -> Dict[str, int]:
    try:
        with Path("/proc/self/status").open() as status:
            rows = (line.split() for line in status)
            return {row[0].rstrip(":"): int(row[1]) * 1024 for row in rows if len(row) == 3 and row[2] == "kB"}
    except OSError:
        return {}


def stay_on(cores: Any) -> None:
    """Pins this process, and every thread it will make, to those cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
