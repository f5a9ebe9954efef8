"""Where the time of a step goes, as a framework's own profiler tells it: the words that all of them are mapped to."""

from dataclasses import dataclass
from typing import Dict, NamedTuple, Optional, Tuple

KERNELS, OPTIMIZER, COPIES = "kernels", "optimizer", "copies and layout"
ALLOCATION, INPUT, COMPILING = "allocation", "input wait", "recompilation"
DISPATCH, IDLE, UNPLACED = "host dispatch", "idle", "not placed"
PLACES = (KERNELS, DISPATCH, COPIES, ALLOCATION, OPTIMIZER, INPUT, COMPILING, IDLE, UNPLACED)
OPERATOR = "operator"  # a kernel; or, if it has others within it, what only hands them their work
STEP = "a step"  # what the events are called within which a step was taken

Event = NamedTuple("Event", [("name", str), ("begin", float), ("seconds", float), ("thread", int)])


@dataclass(frozen=True)
class ProfiledStep:
    """One step under a profiler: `where` has the seconds at each of PLACES, which sum to `seconds`; `kernels` is how
    many operations computed or moved something, `fused` how many of them did the work of several operations (None
    where their names do not tell), and `unplaced` has the seconds of names that are not known. So many `events` began
    within each place: recording them takes time there (None: nobody counted)."""

    seconds: float
    where: Dict[str, float]
    kernels: int
    unplaced: Dict[str, float]
    fused: Optional[int] = None
    events: Optional[Dict[str, int]] = None


@dataclass(frozen=True)
class Profile:
    """What one contender did in steps of one launch, outside the timed blocks.

    `seconds` are those of each plain step; over them `cpu` counts the CPU seconds of the process, `system` those of
    them in the kernel (page faults, system calls), `faults` the minor page faults, and how often a thread gave its core
    up (`waits`) or lost it (`preempted`). `profiled` are steps under `profiler`, "" where the framework has none here;
    it cannot see what is `hidden`.
    """

    launch: int
    contender: str
    task: str
    seconds: Tuple[float, ...]
    cpu: float
    system: float
    faults: int
    waits: int
    preempted: int
    profiler: str = ""
    hidden: Tuple[str, ...] = ()
    profiled: Tuple[ProfiledStep, ...] = ()

