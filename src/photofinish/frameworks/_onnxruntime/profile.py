"""ONNX Runtime's own profiler, and where the time of its events goes.

It is of a session, which is made anew to be watched: operator after operator, and what runs them.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, List, Sequence

from photofinish.frameworks import Unsupported
from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, COMPILING, COPIES, DISPATCH, IDLE, KERNELS, OPTIMIZER, STEP

PROFILER = "ONNX Runtime's profiler"
KERNEL = "_kernel_time"
RULES = (
    (r"^(model_loading|session_initialization)", COMPILING),
    (r"^(Reorder(In|Out)put|Transpose|Concat|Split|Slice|Pad|Expand|Tile|Gather|Cast|Memcpy\w+) ", COPIES),
    (r"^(Reshape|Squeeze|Unsqueeze|Flatten|Shape|Size|Identity|Constant) ", DISPATCH),  # the same memory, another shape
    (KERNEL + "$", KERNELS),
    (r"^(model_run|SequentialExecutor::|.*_fence_(before|after)$)", DISPATCH),
)
FUSED = None  # a convolution with its activation is called as one without


def hidden(contestant: Any) -> Sequence[str]:
    """Memory is taken within kernels, and a kernel lasts until the last of its threads is done. It trains nothing."""
    return (ALLOCATION, IDLE, OPTIMIZER)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The first step of the session is left out. Raises Unsupported on a GPU, whose kernels it would not tell from the
    host's."""
    if contestant.kind != "cpu":
        raise Unsupported("of ONNX Runtime's profiles on a GPU nobody has seen one")
    plain = contestant.session
    with tempfile.TemporaryDirectory() as folder:
        options = contestant._options()
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        contestant.made = contestant._session(contestant.written(contestant.arrays), options)
        try:
            origin = contestant.made.get_profiling_start_time_ns() / 1e9
            step(batches[0])
            taken = [_timed(step, batch, origin) for batch in batches]
        finally:
            watched, contestant.made = contestant.made, plain
        told = json.loads(Path(watched.end_profiling()).read_text())
    return taken + [_event(each) for each in told if each.get("ph") == "X"]


def _timed(step: Callable[[Any], None], batch: Any, origin: float) -> Event:
    begin = time.time()
    step(batch)
    return Event(STEP, begin - origin, time.time() - begin, 0)


def _event(told: Any) -> Event:
    """A kernel is called by its operator and its own name. Whoever calls waits for all threads: there is one line."""
    name = told["name"]
    if name.endswith(KERNEL):
        name = "{} {}".format(told["args"]["op_name"], name)
    return Event(name, told["ts"] / 1e6, told["dur"] / 1e6, 0)
