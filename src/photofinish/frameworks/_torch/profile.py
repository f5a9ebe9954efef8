"""PyTorch's own profiler, and where the time of its events goes.

An operator runs on the thread that called it until its kernel is done, whatever threads that takes. Between operators
it is Python that runs. What Inductor made of a graph is one event. On a GPU an operator launches kernels, which run on
a stream.
"""

import re
from bisect import bisect_right
from typing import Any, Callable, Iterator, List, Sequence, Tuple

from photofinish.values import Event
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
    STEP,
)

PROFILER = "torch.profiler"
OPTIMIZING = r"^Optimizer\."
LAUNCHING = r"^(cuda|cu)[A-Z]"  # functions of CUDA
RULES = (
    (OPTIMIZING, OPTIMIZER),
    (r"^enumerate\(DataLoader\)", INPUT),
    (r"\(dynamo_timed\)$", COMPILING),
    (r"^## Call CompiledFxGraph|^CompiledFxGraph", KERNELS),
    (r"^aten::(empty\w*|new_empty\w*|resize_\w*)$", ALLOCATION),
    (r"^aten::(copy_|_to_copy|clone|cat|stack|fill_|zero_|constant_pad_nd|\w*reorder\w*|to_mkldnn|to_dense)$", COPIES),
    # They hand out the same memory in another shape, read a number, or call what does the work.
    (r"^(aten::)?(view\w*|_unsafe_view|reshape|_reshape_alias|as_strided_?|t|transpose_?|permute|movedim|expand\w*|"
     r"(un)?squeeze_?|select|slice|narrow|split\w*|chunk|unbind|detach_?|alias|(un)?flatten|to|contiguous|"
     r"resolve_(conj|neg)|item|_local_scalar_dense|is_nonzero|lift_fresh|set_|set_data|zeros\w*|ones\w*|full\w*|"
     r"result_type|broadcast_\w+)$", DISPATCH),
    (r"^autograd::|Backward\d*$|AccumulateGrad$", DISPATCH),
    (r"^(CompiledFunction|Torch-Compiled Region|TorchDynamo|AOTDispatcher|Pregraph)", DISPATCH),
    (r"^cuda\w*Synchronize|^cuda\w*(WaitEvent|EventQuery)", IDLE),
    (r"^cuda(Malloc|Free)", ALLOCATION),
    (LAUNCHING + r"|^triton_", DISPATCH),
    (r"^(aten|mkldnn|mkldnn_prepacked|onednn|torchvision|inductor)::", OPERATOR),
)
FUSED = None  # what Inductor fuses is within one event


def hidden(contestant: Any) -> Sequence[str]:
    """A kernel lasts until the last of its threads is done, and Python looks as busy when it waits."""
    return () if contestant.device.type == "cuda" else (IDLE,)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The first step, in which the profiler begins, is left out."""
    from torch.profiler import ProfilerActivity, profile, record_function  # its rules are read without it
    streams = [ProfilerActivity.CUDA] if contestant.device.type == "cuda" else []
    with profile(activities=[ProfilerActivity.CPU, *streams]) as seen:
        step(batches[0])
        for batch in batches:
            with record_function(STEP):
                step(batch)
    assert seen.profiler is not None
    return told(seen.profiler.kineto_results.events())


def told(events: List[Any]) -> List[Event]:
    """Of the profiler's own events, those of the host's threads and of a GPU's streams."""
    origin = min(each.start_ns() for each in events)  # a float has no room for the nanoseconds since 1970
    host = [each for each in events if each.device_type().name == "CPU"]
    streamed = [each for each in events if each.device_type().name == "CUDA"]

    def event(name: str, each: Any, thread: int) -> Event:
        return Event(name, (each.start_ns() - origin) / 1e9, each.duration_ns() / 1e9, thread)
    return [*(event(each.name(), each, each.start_thread_id()) for each in host),
            *(event(name, each, -1 - each.device_resource_id()) for name, each in _named(streamed, host))]


def _named(streamed: List[Any], host: List[Any]) -> Iterator[Tuple[str, Any]]:
    """What ran on streams: a kernel that was launched within the optimizer has its name before its own. Annotations,
    which the profiler draws on streams again, are left out: they have the names of events of the host."""
    names = {each.name() for each in host}
    launched = {each.correlation_id(): each.start_ns() for each in host if re.match(LAUNCHING, each.name())}
    updates = sorted((each.start_ns(), each.start_ns() + each.duration_ns()) for each in host
                     if re.match(OPTIMIZING, each.name()))
    begins = [begin for begin, _ in updates]
    for each in streamed:
        if each.name() not in names:
            moment = launched.get(each.correlation_id(), 0)
            last = bisect_right(begins, moment) - 1
            prefix = "Optimizer." if last >= 0 and moment < updates[last][1] else ""
            yield prefix + each.name(), each
