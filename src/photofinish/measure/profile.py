"""What a contender does within a step: by its framework's own profiler where it has one, and by what the operating
system counts in any case.

A framework's profiler is frameworks/_<framework>/profile.py, found by that name and loaded only when it is asked for,
so that no timed step pays for it. It has `PROFILER`, its name; `RULES`, a place (or OPERATOR) for every name of an
event, the first pattern that is found in it; `FUSED`, the pattern of kernels that do the work of several operations of
the model, None where names do not tell; `hidden(contestant)`, the places that it cannot see; and `watch(contestant,
step, batches)`, the events while each of the batches is stepped on, with one called STEP around each step.

Threads of numbers below 0 are streams of a GPU. Where there are some, the host's threads only hand them their work.
"""

import re
import resource
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Set, Tuple

from photofinish.frameworks import Unsupported, beside
from photofinish.values import Event, ProfiledStep, to_json
from photofinish.values.profile import (
    ALLOCATION,
    COMPILING,
    COPIES,
    DISPATCH,
    IDLE,
    INPUT,
    KERNELS,
    OPERATOR,
    OPTIMIZER,
    PLACES,
    STEP,
    UNPLACED,
)

Rules = Sequence[Tuple[str, str]]  # pattern, place
WORK = (KERNELS, OPERATOR, COPIES, OPTIMIZER)
COVERING = (OPTIMIZER, INPUT, COMPILING)  # what lies within these is a part of them
# Where several threads are at several places at once, the first of these is where the moment went.
FIRST = (COMPILING, KERNELS, OPTIMIZER, COPIES, ALLOCATION, INPUT, UNPLACED, DISPATCH, IDLE)
STREAMED = (  # kernels of every framework's, by their names in CUDA
    (r"^Optimizer\.", OPTIMIZER),  # by what called them
    (r"(?i)^mem(cpy|set)|_copy_kernel|CatArray|FillFunctor|nchwToNhwc|nhwcToNchw|"
     r"^(wrapped_|loop_|input_)?(copy|transpose|bitcast|pad|concatenate|slice)(_fusion)?[\d._]*$", COPIES),
    ("", KERNELS),
)
CLOSE = 1e-9  # seconds: profilers count in nanoseconds, and an event may seem to end just after the next has begun
TOLD = 5  # names that are not known, the longest first

Stretch = Tuple[float, float, str]  # begin, end, place


def profile(engine: Any, framework: str, task: str, steps: int) -> Dict[str, Any]:
    """The fields of `values.Profile` that a worker knows."""
    seconds = []
    engine.contestant.put(engine.state)
    engine.step(task)
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(steps):
        seconds.append(engine.step(task))
    after = resource.getrusage(resource.RUSAGE_SELF)
    system = after.ru_stime - before.ru_stime
    found = {"seconds": seconds, "cpu": after.ru_utime - before.ru_utime + system, "system": system,
             "faults": after.ru_minflt - before.ru_minflt, "waits": after.ru_nvcsw - before.ru_nvcsw,
             "preempted": after.ru_nivcsw - before.ru_nivcsw}
    own = beside(framework, "profile")
    if own is None:
        return dict(found, profiler="", hidden=[], profiled=[])
    try:
        watched = engine.watched(task, steps, own.watch)
    except Unsupported:  # on this device, say: what the system counts is told all the same
        return dict(found, profiler="", hidden=[], profiled=[])
    profiled = [to_json(each) for each in placed(watched, own.RULES, own.FUSED)]
    return dict(found, profiler=own.PROFILER, hidden=list(own.hidden(engine.contestant)), profiled=profiled)


def placed(events: Iterable[Event], rules: Rules, fused: Optional[str] = None) -> List[ProfiledStep]:
    """Every moment of each step at one place; kernels that the pattern `fused` is found in are counted apart.

    A thread is where the innermost of its events is. A moment of a step in which no thread has an event but the step
    itself is the host's.
    """
    threads: Dict[int, List[Event]] = {}
    for event in events:
        threads.setdefault(event.thread, []).append(event)
    windows = [(each.begin, each.begin + each.seconds) for own in threads.values() for each in own if each.name == STEP]
    at_host, on_stream = _Known(rules, handing=min(threads, default=0) < 0), _Known(STREAMED)
    stretches: List[Stretch] = []
    unknown: List[Tuple[float, float, str]] = []
    working: List[Event] = []
    begun: List[Tuple[float, str]] = []
    for number, own in threads.items():
        told = _Thread(own, at_host) if number >= 0 else _Stream(own, on_stream)  # type: Any
        stretches += told.stretches
        unknown += told.unknown
        working += told.working
        begun += told.begun
    return [_step(begin, end, stretches, unknown, [each.name for each in working if begin <= each.begin < end], fused,
                  Counter(place for moment, place in begun if begin <= moment < end))
            for begin, end in sorted(windows)]


class _Known(Dict[str, str]):
    """The place of every name by rules, looked for once; where it is only handed out, no work is done."""

    def __init__(self, rules: Rules, handing: bool = False) -> None:
        super().__init__({STEP: DISPATCH})
        self.rules = [(re.compile(pattern), DISPATCH if handing and place in (KERNELS, OPERATOR, COPIES) else place)
                      for pattern, place in rules]

    def __missing__(self, name: str) -> str:
        self[name] = next((place for pattern, place in self.rules if pattern.search(name)), UNPLACED)
        return self[name]


class _Thread:
    """One thread's events as stretches that do not overlap, those of them that compute or move something, how long the
    names lasted that are not known, and when each began within which place."""

    def __init__(self, events: List[Event], known: Dict[str, str]) -> None:
        self.stretches: List[Stretch] = []
        self.unknown: List[Tuple[float, float, str]] = []
        self.working: List[Event] = []
        self.begun: List[Tuple[float, str]] = []
        ordered = sorted(events, key=lambda each: (each.begin, -each.seconds))
        self.calls = _callers(ordered, known)
        stack: List[Tuple[float, str, str]] = []  # end, name, place
        now = 0.0
        for i, event in enumerate(ordered):
            now = self._until(event.begin, stack, now)
            place = known[event.name]
            if event.name != STEP:
                self.begun.append((event.begin, stack[-1][2] if stack else DISPATCH))
            if place in WORK and i not in self.calls:
                self.working.append(event)
            if stack and stack[-1][2] in COVERING:
                place = stack[-1][2]
            elif place == OPERATOR:
                place = DISPATCH if i in self.calls else KERNELS
            end = event.begin + event.seconds
            stack.append((min(end, stack[-1][0]) if stack else end, event.name, place))
        self._until(float("inf"), stack, now)

    def _until(self, moment: float, stack: List[Tuple[float, str, str]], now: float) -> float:
        """Closes what ends before the moment; who is left on top of the stack has the time up to it."""
        while stack and stack[-1][0] <= moment + CLOSE:
            end, name, place = stack.pop()
            self._stretch(now, end, name, place)
            now = max(now, end)
        if stack:
            self._stretch(now, moment, *stack[-1][1:])
        return moment

    def _stretch(self, begin: float, end: float, name: str, place: str) -> None:
        if end > begin:
            self.stretches.append((begin, end, place))
            if place == UNPLACED:
                self.unknown.append((begin, end, name))


class _Stream:
    """The same of a stream, whose kernels call no others and may overlap (those of a CUDA graph do); recording them
    takes no time of the host's."""

    def __init__(self, events: List[Event], known: Dict[str, str]) -> None:
        self.stretches = [(each.begin, each.begin + each.seconds, known[each.name]) for each in events]
        self.unknown: List[Tuple[float, float, str]] = []
        self.working = events
        self.begun: List[Tuple[float, str]] = []


def _callers(ordered: List[Event], known: Dict[str, str]) -> Set[int]:
    """Which of a thread's events have another within them that computes or moves something."""
    found: Set[int] = set()
    stack: List[Tuple[float, int]] = []
    for i, event in enumerate(ordered):
        while stack and stack[-1][0] <= event.begin + CLOSE:
            stack.pop()
        if known[event.name] in (KERNELS, OPERATOR):
            found.update(above for _, above in stack)
        stack.append((event.begin + event.seconds, i))
    return found


def _step(begin: float, end: float, stretches: List[Stretch], unknown: List[Stretch], working: List[str],
          fused: Optional[str], begun: Mapping[str, int]) -> ProfiledStep:
    where = dict.fromkeys(PLACES, 0.0)
    for place, seconds in _shares(begin, end, stretches):
        where[place] += seconds
    names: Dict[str, float] = {}
    for start, stop, name in unknown:
        if start < end and stop > begin:
            names[name] = names.get(name, 0.0) + min(stop, end) - max(start, begin)
    told = dict(sorted(names.items(), key=lambda each: -each[1])[:TOLD])
    return ProfiledStep(end - begin, where, len(working), told,
                        None if fused is None else sum(re.search(fused, name) is not None for name in working),
                        dict(begun))


def _shares(begin: float, end: float, stretches: List[Stretch]) -> Iterator[Tuple[str, float]]:
    """Who has each moment from begin to end, of all threads that are somewhere then."""
    edges = []
    for start, stop, place in stretches:
        if start < end and stop > begin:
            edges += [(max(start, begin), 1, place), (min(stop, end), -1, place)]
    active: Dict[str, int] = dict.fromkeys(PLACES, 0)
    now = begin
    for moment, change, place in sorted(edges):
        if moment > now:
            yield next((each for each in FIRST if active[each] > 0), IDLE), moment - now
            now = moment
        active[place] += change
    if end > now:
        yield IDLE, end - now
