"""A scripted profile: of each step of the fake's clock half is kernels, a quarter the host's, a tenth the optimizer's,
a twentieth each copies, memory and what nobody knows. Copies that were planted come on top, at its end."""

from typing import Any, Callable, List, Sequence

from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, COPIES, IDLE, KERNELS, OPTIMIZER, STEP

PROFILER = "the script"
RULES = (("^kernel$", KERNELS), ("^update$", OPTIMIZER), ("^copy$", COPIES), ("^memory$", ALLOCATION))
FUSED = None
SCRIPT = (("kernel", 0.0, 0.5), ("update", 0.5, 0.1), ("copy", 0.6, 0.05), ("memory", 0.65, 0.05),
          ("something else", 0.7, 0.05))  # name, begin and length as shares of a step


def hidden(contestant: Any) -> Sequence[str]:
    """What the script does not tell."""
    return (IDLE,)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    events = []
    for batch in batches:
        begin = contestant.clock()
        step(batch)
        seconds = contestant.clock() - begin
        copying = seconds * contestant.copying / contestant.step_seconds
        own = seconds - copying
        events.append(Event(STEP, begin, seconds, 1))
        events += [Event(name, begin + start * own, length * own, 1) for name, start, length in SCRIPT]
        events += [Event("copy", begin + own, copying, 1)] if copying else []
    return events
