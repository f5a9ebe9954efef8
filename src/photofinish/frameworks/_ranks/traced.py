"""What a process of several does in a step, as the profiler of its framework tells it."""

import re
import time
from typing import Any, Callable, List

from photofinish.frameworks._ranks.intervals import outside, union
from photofinish.values import Event, TracedStep
from photofinish.values.profile import COPIES, KERNELS, OPERATOR, OPTIMIZER, STEP

WORK = (KERNELS, OPERATOR, OPTIMIZER, COPIES)


def traced(contestant: Any, profiler: Any, step: Callable[[Any], Any], batches: List[Any], sent: int
           ) -> List[TracedStep]:
    """By a framework's `profiler` (`measure.profile` says what it has), which also has COLLECTIVE, the names of what
    processes do together. Its clock begins with it: what the wall says at the first step sets it.

    `sent` are the bytes that this process gives to all collectives of a step. They have the same share each: what lies
    in which of them no profiler tells.
    """
    begun: List[float] = []

    def timed(batch: Any) -> None:
        begun.append(time.time())
        contestant.wait(step(batch))

    events = profiler.watch(contestant, timed, batches)
    steps = sorted((each for each in events if each.name == STEP), key=lambda each: each.begin)
    to_wall = begun[1] - steps[0].begin  # the first is left out by who watches
    return [_step(events, each, to_wall, profiler, sent) for each in steps]


def _step(events: List[Event], step: Event, to_wall: float, profiler: Any, sent: int) -> TracedStep:
    begin, end = step.begin, step.begin + step.seconds
    own = [(each.name, each.begin + to_wall, min(each.begin + each.seconds, end) + to_wall)
           for each in events if begin <= each.begin < end]
    sending = sorted((start, stop) for name, start, stop in own if re.search(profiler.COLLECTIVE, name))
    busy = [(start, stop) for name, start, stop in own if _computes(name, profiler)]
    return TracedStep(begin + to_wall, end + to_wall,
                      tuple((start, stop, sent // len(sending)) for start, stop in sending),
                      tuple(outside(union(sending), union(busy))))


def _computes(name: str, profiler: Any) -> bool:
    place = next((given for pattern, given in profiler.RULES if re.search(pattern, name)), "")
    return place in WORK and not re.search(profiler.COLLECTIVE, name)
