"""JAX's own profiler (jax.profiler), and where the time of its events goes.

It tells of every instruction of XLA on the threads that run it; which of them belong to the optimizer it does not tell.
"""

import tempfile
from pathlib import Path
from typing import Any, Callable, Iterator, List, Sequence

from photofinish.frameworks import Unsupported
from photofinish.values import Event
from photofinish.values.profile import ALLOCATION, COMPILING, COPIES, DISPATCH, IDLE, KERNELS, OPTIMIZER, STEP

PROFILER = "jax.profiler"
RUNTIME = 3  # the level of its tracer that tells instructions
LAUNCHES = (  # of a GPU: what the host calls while it launches kernels, some by the kernels' own names
    r"^(void |sm\d+_|cu[A-Z]|Cuda[A-Z]|LaunchCuda|Gpu[A-Z]|PJRT_|\[\d+\] |jit_\w+:XLA|Thunks:|command_buffer|"
    r"Mem(cpy|set)|BUFFER_|<UNKNOWN>|Build buffer|\w+::(GetEvent|WaitFor))")
RULES = (
    (r"^cu\w*Synchronize", IDLE),
    (r"^cu(da)?Mem(Alloc|Free)", ALLOCATION),
    (LAUNCHES, DISPATCH),
    (r"ompile|^HloPass|^Hlo pass|^Backend|^trace_to_jaxpr|^jaxpr_to_mlir|LlvmIr|RunBackend|pass-pipeline", COMPILING),
    (r"wait for completion|^Wait for|Await|BlockUntilReady", IDLE),  # for other threads
    (r"^Allocate|Allocator", ALLOCATION),
    (r"^(CopyTo|CopyFrom|BufferFromHost|BatchedDevicePut|DevicePut|ToLiteral|LinearizeInto|Transpose)", COPIES),
    (r"^(wrapped_)?(copy|transpose|bitcast|pad|concatenate|slice)[\w.-]*$", COPIES),  # what XLA calls its instructions
    (r"^(ThunkExecutor|ThreadpoolListener|end: |PjitFunction|ParseArguments|CommonPjRt|PjRt|TfrtCpu|CpuExecutable|"
     r"PythonRefManager|Handle input|\$|<unknown>)", DISPATCH),
    (r"^[a-z][\w-]*(\.\d+)*$", KERNELS),
)
FUSED = r"fusion"
COLLECTIVE = r"^(all-(reduce|gather|to-all)|reduce-scatter|collective-)[\w.-]*$"  # of several processes


def hidden(contestant: Any) -> Sequence[str]:
    return (OPTIMIZER,)


def watch(contestant: Any, step: Callable[[Any], None], batches: List[Any]) -> List[Event]:
    """The first step, in which the profiler begins, is left out. Raises Unsupported where JAX cannot read what it has
    written."""
    from jax import profiler  # its rules are read without it
    if not hasattr(profiler, "ProfileData"):
        raise Unsupported("this JAX cannot read its own profiles")
    options = profiler.ProfileOptions()
    options.host_tracer_level, options.python_tracer_level = RUNTIME, 0
    with tempfile.TemporaryDirectory() as folder:
        with profiler.trace(folder, profiler_options=options):
            step(batches[0])
            for batch in batches:
                with profiler.TraceAnnotation(STEP):
                    step(batch)
        return [event for path in Path(folder).rglob("*.xplane.pb")
                for event in told(profiler.ProfileData.from_file(str(path)))]


def told(written: Any) -> Iterator[Event]:
    """Of every thread of the host, and of every stream of a GPU."""
    places = [(line, number) for number, line in enumerate(_lines(written, "/host:CPU"))]
    places += [(line, -1 - number) for number, line in enumerate(_lines(written, "/device:GPU"))
               if line.name.startswith("Stream")]
    threads = [([(each.name, each.start_ns, each.duration_ns) for each in line.events], number)
               for line, number in places]
    origin = min(begin for thread, _ in threads for _, begin, _ in thread)  # a float has no room for all nanoseconds
    for thread, number in threads:
        for name, begin, lasted in thread:
            if lasted:
                yield Event(name, (begin - origin) / 1e9, lasted / 1e9, number)


def _lines(written: Any, plane: str) -> List[Any]:
    return [line for each in written.planes if each.name.startswith(plane) for line in each.lines]
