"""One of several processes of PyTorch that train one model, in touch over gloo: what all strategies have in common.

Each has its part of every batch; what is read is what all have together. Running statistics are those of rank 0.
"""

import math
import os
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch import distributed
from torch.profiler import ProfilerActivity, profile

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks._ranks.intervals import Stretches, outside, union
from photofinish.frameworks.torch import Contestant as Alone
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer
from photofinish.values import TracedStep

OPERATOR, COLLECTIVE = "aten::", "gloo:"  # how the names of such events begin
BYTES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2, "long int": 8, "int": 4, "short int": 2,
         "signed char": 1, "unsigned char": 1, "bool": 1}  # of what the profiler calls a type


class Rank(Alone):
    """One of `setup.world` processes, which all do the same at the same time."""

    strategy = ""  # PyTorch's name for what the processes do

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all are on this machine, which may have no other network
        meeting = "file://{}/store".format(setup.meeting)
        distributed.init_process_group("gloo", init_method=meeting, rank=setup.rank, world_size=setup.world)

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), strategy=self.strategy, backend=distributed.get_backend(),
                    processes=distributed.get_world_size())

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch // self.setup.world, optimizer)

    def feed(self, arrays: Arrays) -> Any:
        return super().feed(part_of(arrays, self.setup))

    def gradients(self, batch: Any) -> Arrays:
        found = super().gradients(batch)
        return dict(found, loss=self._whole(found["loss"]))

    def read(self, handle: Any) -> Arrays:
        """The mean loss, and the outputs of the whole batch."""
        return {name: self._whole(values) for name, values in super().read(handle).items()}

    def agreed(self, done: bool) -> bool:
        told = torch.tensor(done)
        distributed.broadcast(told, 0)
        return bool(told)

    def trace(self, step: Callable[[Any], Any], batches: List[Any]) -> List[TracedStep]:
        """By PyTorch's profiler: it computes while an operator runs, on whatever thread. The first step, in which the
        profiler begins, is left out."""
        times: List[Tuple[float, float]] = []
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
            for batch in [batches[0], *batches]:
                begin = time.time()
                self.wait(step(batch))
                times.append((begin, time.time()))
        assert seen.profiler is not None
        spans = [(each, each.start_ns() / 1e9, (each.start_ns() + each.duration_ns()) / 1e9)
                 for each in seen.profiler.kineto_results.events()]
        busy = [(start, stop) for each, start, stop in spans if each.name().startswith(OPERATOR)]
        sent = self._sent(spans)
        return [_traced(busy, sent, begin, end) for begin, end in times[1:]]

    def _sent(self, spans: Iterable[Tuple[Any, float, float]]) -> List[Tuple[float, float, int]]:
        """When each collective began and ended, and the bytes that this process gave to it, of the profiler's events.
        """
        return [(start, stop, _size(each)) for each, start, stop in spans if each.name().startswith(COLLECTIVE)]

    def _settle(self) -> None:
        for buffer in self.model.buffers():
            distributed.broadcast(buffer, 0)
        super()._settle()

    def _whole(self, values: np.ndarray) -> np.ndarray:
        own = torch.from_numpy(np.array(values))
        parts = [torch.empty_like(own) for _ in range(self.setup.world)]
        distributed.all_gather(parts, own)
        return np.concatenate([each.numpy() for each in parts]) if own.dim() else np.asarray(
            np.mean([each.numpy() for each in parts]), values.dtype)


def joined(outputs: Sequence[Any]) -> Any:
    """The outputs of all parts of a batch, one behind the other."""
    if torch.is_tensor(outputs[0]):
        return torch.cat(tuple(outputs))
    return tuple(None if each[0] is None else torch.cat(each) for each in zip(*outputs))


def _traced(busy: Stretches, sent: List[Tuple[float, float, int]], begin: float, end: float) -> TracedStep:
    """What of both belongs to one step."""
    own = sorted((start, min(stop, end), size) for start, stop, size in sent if begin <= start < end)
    computing = union((start, stop) for start, stop in busy if begin <= start < end)
    return TracedStep(begin, end, tuple(own), tuple(outside(union((start, stop) for start, stop, _ in own), computing)))


def _size(event: Any) -> int:
    """Bytes that this process gives to a collective."""
    return sum(math.prod(shape) * BYTES[kind] for shape, kind in zip(event.shapes(), event.dtypes()) if kind)
