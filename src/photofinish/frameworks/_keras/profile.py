"""The profiler of the framework that Keras runs on, and where the time of its events goes.

Which framework that is, is known in a process of Keras alone.
"""

from importlib import import_module
from typing import Any, Callable, List, Sequence

from keras import backend

from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, OPTIMIZER

_own = import_module("photofinish.frameworks._{}.profile".format(backend.backend()))
PROFILER, RULES, FUSED = _own.PROFILER, _own.RULES, _own.FUSED


def hidden(contestant: Any) -> Sequence[str]:
    """The optimizer is Keras' own: only an operation of TensorFlow's graphs is called by it."""
    if contestant.backend == "tensorflow":
        return (ALLOCATION, OPTIMIZER) if contestant.setup.mode == "jit" else (ALLOCATION,)
    return tuple(dict.fromkeys([*_own.hidden(contestant), OPTIMIZER]))


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    events: List[Event] = _own.watch(contestant, step, batches)
    return events
