"""What the operating system says of this process and of the machine around it. Linux; elsewhere the
figures that cannot be had are None or 0 and `doctor` says so."""

import ctypes
import os
import resource
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Dict, List, NamedTuple, Optional

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
CORES = os.cpu_count() or 1
STATUS = "/proc/self/status"

Counters = NamedTuple("Counters", [("wall", float), ("cpu", float), ("faults", int), ("busy", Optional[float])])


def counters(family: bool = False) -> Counters:
    """Seconds of wall clock and own CPU, minor page faults, and CPU seconds the whole machine has used. With `family`,
    what the processes that this one started have used is its own, too."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    others = _cpu_of_children() if family else 0.0
    return Counters(time.perf_counter(), usage.ru_utime + usage.ru_stime + others, usage.ru_minflt, _machine_busy())


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


def children(pid: int) -> List[int]:
    """The living processes that it started, and theirs; none where the system does not say."""
    found, wanted = [], [pid]  # type: List[int], List[int]
    while wanted:
        for listed in Path("/proc/{}/task".format(wanted.pop())).glob("*/children"):
            with suppress(OSError):
                own = [int(word) for word in listed.read_text().split()]
                found, wanted = found + own, wanted + own
    return found


def state_of(pid: int) -> List[str]:
    """The fields of its /proc/<pid>/stat from the third on: its state (T: stopped, Z: dead) and so on; [] if it has
    gone."""
    try:
        return Path("/proc/{}/stat".format(pid)).read_text().rpartition(")")[2].split()
    except OSError:
        return []


def memory_of_children() -> int:
    """Bytes that only they hold now: what they share with this process counts once, as its own."""
    found = 0
    for pid in children(os.getpid()):
        with suppress(OSError):
            rows = (line.split() for line in Path("/proc/{}/smaps_rollup".format(pid)).read_text().splitlines())
            found += sum(int(row[1]) * 1024 for row in rows if row[0].startswith("Private_"))
    return found


def _cpu_of_children() -> float:
    """CPU seconds of the children that are dead and buried, and of those that live."""
    buried = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = (sum(map(int, state_of(pid)[11:15])) for pid in children(os.getpid()))  # user and system, and their buried
    return buried.ru_utime + buried.ru_stime + sum(living) / float(TICKS)


def stay_on(cores: Any) -> None:
    """Pins this process, and every thread it will make, to those cores."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
