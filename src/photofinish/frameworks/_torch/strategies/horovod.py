"""Horovod: every process has the whole model; its optimizer hands each gradient over as soon as the backward pass has
it, to a thread that averages several at a time, and waits for all before it updates (Sergeev and Del Balso 2018).

Processes find each other at a server in that of rank 0, where horovodrun would have one of its own. Option `hook`
compresses gradients on their way. How many go at a time, and how often, say Horovod's own variables
(HOROVOD_FUSION_THRESHOLD, HOROVOD_CYCLE_TIME, HOROVOD_AUTOTUNE).
"""

import os
import time
import warnings
from typing import Any, Callable, Dict, Iterable, List, Tuple

import horovod
import horovod.torch as hvd
from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
from horovod.runner.http.http_server import RendezvousServer

from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks._ranks.meeting import HOST, find, leave
from photofinish.frameworks._torch.rank import Rank
from photofinish.frameworks._torch.source import native_source
from photofinish.graph import Graph
from photofinish.values import TracedStep

__all__ = ["Contestant", "native_source"]

COMPRESSIONS = {"": hvd.Compression.none, "fp16": hvd.Compression.fp16}
# Gradients that are read without a step are waited for, as a step would have done.
warnings.filterwarnings("ignore", message=r"optimizer.step\(\) called without optimizer.skip_synchronize")


class Contestant(Rank):
    """The optimizer is Horovod's; what belongs to no step (reading, running statistics) goes the way of all ranks."""

    strategy = "Horovod"
    options = (*Rank.options, "hook")  # type: ignore[assignment]

    def __init__(self, setup: Setup) -> None:
        self.compression = COMPRESSIONS[setup.options.get("hook", "")]
        super().__init__(setup)
        _meet(setup)
        hvd.init()

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), horovod=horovod.__version__, compression=self.compression.__name__)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.optimizer is not None:
            self.optimizer = hvd.DistributedOptimizer(
                self.optimizer, named_parameters=self.model.named_parameters(), compression=self.compression)
        return handles

    def _gradients(self, prefix: str) -> Arrays:
        if prefix == "gradient/":
            self.optimizer.synchronize()
        return super()._gradients(prefix)

    def trace(self, step: Callable[[Any], Any], batches: List[Any]) -> List[TracedStep]:
        """A gradient counts as on its way until the optimizer takes it: when it came Horovod does not tell."""
        self.timed = self.optimizer._compression = _Timed(self.compression)
        try:
            return super().trace(step, batches)
        finally:
            self.optimizer._compression = self.compression

    def _sent(self, spans: Iterable[Tuple[Any, float, float]]) -> List[Tuple[float, float, int]]:
        return self.timed.sent


def _meet(setup: Setup) -> None:
    """What horovodrun tells each process, for all as if on one host: where the server is, and who it is."""
    host = os.environ.get(HOST, "127.0.0.1")
    if setup.rank == 0:
        server = RendezvousServer()
        port = server.start()
        server.init(get_host_assignments(parse_hosts("localhost:{}".format(setup.world)), setup.world))
        leave(setup, "{}:{}".format(host, port))
    server_host, _, server_port = find(setup, 0).partition(":")
    os.environ.update({
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": server_host, "HOROVOD_GLOO_RENDEZVOUS_PORT": server_port,
        "HOROVOD_GLOO_IFACE": os.environ["GLOO_SOCKET_IFNAME"], "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo", "HOROVOD_HOSTNAME": "localhost", "HOROVOD_RANK": str(setup.rank),
        "HOROVOD_SIZE": str(setup.world), "HOROVOD_LOCAL_RANK": str(setup.rank),
        "HOROVOD_LOCAL_SIZE": str(setup.world), "HOROVOD_CROSS_RANK": "0", "HOROVOD_CROSS_SIZE": "1"})


class _Timed:
    """A compression that takes down when each gradient was handed over and when it was back, and its bytes."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.sent: List[Tuple[float, float, int]] = []

    def compress(self, tensor: Any) -> Tuple[Any, Any]:
        small, context = self.inner.compress(tensor)
        return small, (context, time.time(), small.numel() * small.element_size())

    def decompress(self, tensor: Any, context: Any) -> Any:
        inner, begin, size = context
        self.sent.append((begin, time.time(), size))
        return self.inner.decompress(tensor, inner)
