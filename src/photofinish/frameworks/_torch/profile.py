"""PyTorch's own profiler, and where the time of its events goes.

An operator runs on the thread that called it until its kernel is done, whatever threads that takes. Between operators
it is Python that runs. What Inductor made of a graph is one event.
"""

from typing import Any, Callable, List, Sequence

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
RULES = (
    (r"^Optimizer\.", OPTIMIZER),
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
    (r"^(aten|mkldnn|mkldnn_prepacked|onednn|torchvision|inductor)::", OPERATOR),
)
FUSED = None  # what Inductor fuses is within one event


def hidden(contestant: Any) -> Sequence[str]:
    """A kernel lasts until the last of its threads is done, and Python looks as busy when it waits."""
    return (IDLE,)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The first step, in which the profiler begins, is left out."""
    from torch.profiler import ProfilerActivity, profile, record_function  # its rules are read without it
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step(batches[0])
        for batch in batches:
            with record_function(STEP):
                step(batch)
    assert seen.profiler is not None
    events = seen.profiler.kineto_results.events()
    origin = min(each.start_ns() for each in events)  # a float has no room for the nanoseconds since 1970
    return [Event(each.name(), (each.start_ns() - origin) / 1e9, each.duration_ns() / 1e9, each.start_thread_id())
            for each in events]
