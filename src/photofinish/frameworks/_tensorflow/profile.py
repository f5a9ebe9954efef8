"""TensorFlow's own profiler (tf.profiler), and where the time of its events goes.

It writes an XSpace: a line of events for each thread. The protocol buffer that reads one comes with TensorFlow, though
without a public door; nothing else has to be installed.
"""

import importlib
import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator, List, Sequence

from photofinish.frameworks import Unsupported
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

PROFILER = "tf.profiler"
OPERATIONS = 3  # the level of its tracer that tells those, too, which it expects to be quick
RUN, EAGERLY = "KernelAndDeviceFunc::Run", "EagerLocalExecute: "
RULES = (
    (r"::Compile|XlaCompil|RunHloPasses|RunBackend", COMPILING),
    (r"^Iterator::|:IteratorGetNext", INPUT),
    (r"^(sgd|adam)\w*/", OPTIMIZER),
    (r"^(Assign(Add|Sub)?VariableOp|Add)(_\d+)?[:/]", OPTIMIZER),  # outside of every layer's scope
    (r"^(KernelAndDeviceFunc::Run:__inference\w*|FunctionRun|BlockUntilReady)$", IDLE),  # for other threads
    (r":(Transpose|ConcatV?2?|Pad\w*|Fill|ZerosLike|Tile|Pack|Unpack|Split\w*|Slice|StridedSlice\w*|_?Mkl\w*ToTf|"
     r"_MklLayoutConvert|(Deep)?Copy\w*|Snapshot|Assign\w*VariableOp)$", COPIES),
    (r":(ReadVariableOp|VarHandleOp|_?Arg|_?Retval|_?Const|NoOp|Shape\w*|Reshape|Squeeze|ExpandDims|Identity\w*|"
     r"Rank|Size|BroadcastGradientArgs)$", DISPATCH),
    (r"^(Eager|TFE_|ValidateInput|Executor|CpuExecutable|ThunkExecutor|ThreadpoolListener|end: |tf\.|convert_to_|"
     r"(train_step|infer|one_step_on_data)$)", DISPATCH),
    (r":_?\w+$", OPERATOR),
    (r"^ParallelFor$", KERNELS),
    (r"^(copy|transpose|bitcast)[\w.-]*$", COPIES),  # what XLA calls its instructions
    (r"^\w[\w-]*(\.\d+)+$|^wrapped_|fusion|^(convolution|dot|reduce|custom-call|call|while|rng)[\w-]*$", KERNELS),
)
FUSED = r"fusion|:_(Mkl|Native)*Fused(?!BatchNorm(Grad)?V)"  # that one is the operation's own name
COLLECTIVE = r":(Collective\w+)$"  # of several processes


def hidden(contestant: Any) -> Sequence[str]:
    """It tells when memory is taken, and not how long that lasts; only operations of a graph are called by what
    they are for."""
    nameless = contestant.mode.compiled or contestant.mode.written == "eager"
    return (ALLOCATION, OPTIMIZER) if nameless else (ALLOCATION,)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The first step, in which the profiler begins, is left out. Raises Unsupported on a GPU, whose kernels are not
    among what is read."""
    if contestant.setup.device != "cpu":
        raise Unsupported("of TensorFlow's profiles on a GPU nobody has seen one")
    from tensorflow.profiler import experimental as profiler  # its rules are read without it
    options = profiler.ProfilerOptions(host_tracer_level=OPERATIONS, python_tracer_level=0, device_tracer_level=0)
    with tempfile.TemporaryDirectory() as folder:
        profiler.start(folder, options=options)
        try:
            step(batches[0])
            for batch in batches:
                with profiler.Trace(STEP):
                    step(batch)
        finally:
            profiler.stop()
        return [event for path in Path(folder).rglob("*.xplane.pb") for event in _events(path.read_bytes())]


def _events(written: bytes) -> Iterator[Event]:
    """Of every thread of the host. An operation that is run at once has its name on the call around it only."""
    space = importlib.import_module("tensorflow.tsl.profiler.protobuf.xplane_pb2").XSpace.FromString(written)
    lines = [(plane, line) for plane in space.planes if plane.name.startswith("/host:") for line in plane.lines]
    origin = min(line.timestamp_ns for _, line in lines)  # a float has no room for the nanoseconds since 1970
    for number, (plane, line) in enumerate(lines):
        called = ""
        for each in sorted(line.events, key=lambda event: event.offset_ps):
            name = plane.event_metadata[each.metadata_id].name
            if name.startswith(EAGERLY):
                called = name[len(EAGERLY):]
            if each.duration_ps:
                yield Event("{}:{}".format(RUN, called) if name == RUN else name,
                            (line.timestamp_ns - origin) / 1e9 + each.offset_ps / 1e12, each.duration_ps / 1e12, number)
