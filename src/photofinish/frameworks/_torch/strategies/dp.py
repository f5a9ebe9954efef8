"""DataParallel: one process has the model on the first of several CUDA devices (the one that was asked for), copies it
to the others for each step, and hands out the batch and gathers the outputs (never run: it needs two CUDA devices).

BatchNorm takes the statistics of each device's part; those that run are the first device's.
"""

from typing import Any, Dict

import torch
from torch.nn import DataParallel

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks.torch import Contestant as Alone
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]


class Contestant(Alone):
    """The loss is that of the outputs of the whole batch, on the first device."""

    def __init__(self, setup: Setup) -> None:
        first, there = torch.device(setup.device).index or 0, torch.cuda.device_count()
        if there < first + setup.world:
            raise Unsupported("DataParallel over {} devices{}: this machine has {} CUDA device{}".format(
                setup.world, " from number {} on".format(first) if first else "", there, "" if there == 1 else "s"))
        super().__init__(setup)
        self.numbers = list(range(first, first + setup.world))

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), strategy="DataParallel", devices=self.setup.world)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.objective is not None:
            parallel, loss = DataParallel(self.model, self.numbers), self.objective
            self.objective = lambda model, *batch: loss(parallel, *batch)
        return handles

    def wait(self, handle: Any) -> None:
        for number in self.numbers:
            torch.cuda.synchronize(number)
