"""One of several processes of PyTorch that train one model, in touch over gloo: what all strategies have in common.

Each has its part of every batch; what is read is what all have together. Running statistics are those of rank 0.
"""

import os
from typing import Any, Dict, Optional

import numpy as np
import torch
from torch import distributed

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks.torch import Contestant as Alone
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer


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
