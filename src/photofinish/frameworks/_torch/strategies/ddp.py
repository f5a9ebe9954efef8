"""DistributedDataParallel: every process has the whole model and its part of the batch; gradients are averaged by gloo
while the backward pass goes on.

Running statistics are those of rank 0, which DDP hands to the others before each forward pass.
"""

import os
from typing import Any, Dict, Optional

import numpy as np
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks.torch import Contestant as Alone
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]


class Contestant(Alone):
    """One of `setup.world` processes, which all do the same at the same time."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all are on this machine, which may have no other network
        meeting = "file://{}/store".format(setup.meeting)
        distributed.init_process_group("gloo", init_method=meeting, rank=setup.rank, world_size=setup.world)

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), strategy="DistributedDataParallel", backend=distributed.get_backend(),
                    processes=distributed.get_world_size())

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch // self.setup.world, optimizer)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.objective is not None and optimizer is not None:
            parallel, loss = DistributedDataParallel(self.model), self.objective
            self.objective = lambda model, *batch: loss(parallel, *batch)
        return handles

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
