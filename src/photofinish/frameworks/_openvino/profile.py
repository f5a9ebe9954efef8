"""What OpenVINO counts of each node of a compiled model, and where that time goes.

It tells how long each node took in the mean of all inferences so far, and not when it began; its CPU plugin runs them
one after the other, and so they are laid here: what an inference takes beyond them is the host's.
"""

import time
from typing import Any, Callable, List, Sequence, Set

from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, COPIES, DISPATCH, IDLE, KERNELS, OPTIMIZER, STEP

PROFILER = "OpenVINO's performance counters"
RULES = (
    (r"^(Reorder|Transpose|Concatenation|Split|StridedSlice|Pad|Broadcast|Tile|Gather\w*|Convert|MemoryInput|"
     r"MemoryOutput) ", COPIES),
    (r"^(Reshape|Squeeze|Unsqueeze|ShapeOf|Input|Output|Parameter|Result|Constant|Const) ", DISPATCH),
    (r"^\w+ \w+( \(fused\))?$", KERNELS),  # the kind of a node, and the primitive that ran it
)
FIRST = 10  # inferences before the steps that are told, so that the first, which are slow, weigh little
LAYERS = "originalLayersNames"  # a node's own list of the nodes that it was made of
FUSED = r"\(fused\)$"


def hidden(contestant: Any) -> Sequence[str]:
    """Memory is taken when a model is compiled, and a node lasts until the last of its threads is done. It trains
    nothing."""
    return (ALLOCATION, IDLE, OPTIMIZER)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The model compiled once more, to be counted; its first steps are left out."""
    plain, settings = contestant.session, contestant.settings
    try:
        contestant.settings = dict(settings, PERF_COUNT=True)
        contestant.made = contestant.load(contestant.written(contestant.arrays))
        fused = _fused(contestant.made.get_compiled_model().get_runtime_model())
        for _ in range(FIRST):
            step(batches[0])
        return [event for batch in batches for event in _events(contestant, step, batch, fused)]
    finally:
        contestant.made, contestant.settings = plain, settings


def _fused(model: Any) -> Set[str]:
    """The nodes that were made of several of the model's."""
    told = {each.get_friendly_name(): each.get_rt_info() for each in model.get_ordered_ops()}
    return {name for name, info in told.items()
            if LAYERS in info and len(info[LAYERS].astype(str).split(",")) > 1}


def _events(contestant: Any, step: Callable[[Any], None], batch: Any, fused: Set[str]) -> List[Event]:
    """A step, and in it the nodes that were run, by their kind and primitive: shorter than their means where this step
    was shorter than those before it."""
    begin = moment = time.time()
    step(batch)
    length = time.time() - begin
    nodes = [each for each in contestant.made.profiling_info if each.status.name == "EXECUTED"]
    told = sum(each.real_time.total_seconds() for each in nodes)
    share = length / told if told > length else 1.0
    found = [Event(STEP, begin, length, 0)]
    for node in nodes:
        seconds = share * node.real_time.total_seconds()
        name = "{} {}{}".format(node.node_type, node.exec_type, " (fused)" if node.node_name in fused else "")
        found.append(Event(name, moment, seconds, 0))
        moment += seconds
    return found
