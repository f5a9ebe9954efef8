"""The profiler of the framework that Keras runs on, and where the time of its events goes.

Which framework that is, is known in a process of Keras alone.
"""

from importlib import import_module
from typing import Any, Callable, List, Sequence

from keras import backend

from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, OPTIMIZER

_own = import_module("photofinish.frameworks._{}.profile".format(backend.backend()))
PROFILER, RULES = _own.PROFILER, _own.RULES


def hidden(contestant: Any) -> Sequence[str]:
    """On TensorFlow no operation has the name of what it is for."""
    found: Sequence[str] = (ALLOCATION, OPTIMIZER) if contestant.backend == "tensorflow" else _own.hidden(contestant)
    return found


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    events: List[Event] = _own.watch(contestant, step, batches)
    return events
