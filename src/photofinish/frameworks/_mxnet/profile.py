"""MXNet's own profiler (mx.profiler), and where the time of its events goes.

Its engine runs operators on threads of its own, several of them in bulk: such a bulk is one event. Its clock is the
wall's, in microseconds.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, COPIES, DISPATCH, IDLE, OPERATOR, OPTIMIZER, STEP

PROFILER = "mx.profiler"
RULES = (
    (r"^(multi_|mp_|preloaded_)*(sgd|adam)\w*_update$", OPTIMIZER),
    (r"^MX(NDArrayWait|NDArraySyncCopyToCPU|EngineWait)", IDLE),  # for the engine
    (r"^MX[A-Z]|^DeleteVariable$", DISPATCH),
    (r"^(Reshape|reshape|Flatten|expand_dims|squeeze)$", DISPATCH),  # the same memory, another shape
    (r"^[A-Za-z_]", OPERATOR),
)
FUSED = None


def hidden(contestant: Any) -> Sequence[str]:
    """Memory is taken within operators, and copies are made within bulks of them."""
    return (ALLOCATION, COPIES)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The first step, in which the profiler begins, is left out."""
    from mxnet import profiler  # its rules are read without it
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        profiler.set_config(profile_symbolic=True, profile_imperative=True, profile_api=True, filename=str(file))
        profiler.set_state("run")
        try:
            origin = time.time()
            step(batches[0])
            taken = [_timed(step, batch, origin) for batch in batches]
        finally:
            profiler.set_state("stop")
        profiler.dump()
        return taken + list(_events(json.loads(file.read_text())["traceEvents"], origin))


def _timed(step: Callable[[Any], None], batch: Any, origin: float) -> Event:
    begin = time.time()
    step(batch)
    return Event(STEP, begin - origin, time.time() - begin, 0)


def _events(told: List[Any], origin: float) -> Iterator[Event]:
    """Of pairs of a beginning and an end: operators (B, E), and calls of its interface (b, e). The thread that calls is
    that of the steps."""
    threads: Dict[Any, int] = {}
    begun: Dict[Tuple[Any, str], List[int]] = {}
    for each in told:
        phase, category, name = each.get("ph"), each.get("cat"), each.get("name")
        if (phase in ("b", "e")) is not (category == "MXNET_C_API") or phase not in ("B", "E", "b", "e"):
            continue  # operators are told twice
        thread = 0 if category == "MXNET_C_API" else threads.setdefault(each["tid"], len(threads) + 1)
        if phase in ("B", "b"):
            begun.setdefault((thread, name), []).append(each["ts"])
        elif begun.get((thread, name)):
            start = begun[thread, name].pop()
            yield Event(name, start / 1e6 - origin, (each["ts"] - start) / 1e6, thread)
