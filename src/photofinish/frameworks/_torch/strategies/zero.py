"""ZeRO-1: as DistributedDataParallel, but each process keeps the optimizer's state of a share of the parameters alone,
updates these, and hands them to the others (Rajbhandari et al. 2020; PyTorch's ZeroRedundancyOptimizer)."""

from typing import Any, Dict, Iterator

import torch
from torch import distributed
from torch.distributed.optim import ZeroRedundancyOptimizer

from photofinish.frameworks._common.trainer import Slot
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.strategies.ddp import Contestant as Replica
from photofinish.frameworks.torch import SLOTS
from photofinish.graph import Graph
from photofinish.optimizers import Adam

__all__ = ["Contestant", "native_source"]


KEPT = ("lr", "momentum", "betas", "eps", "fused")  # of an optimizer's settings: those that ours are made with


class Contestant(Replica):
    """`owners` has the rank that keeps the state of each parameter."""

    strategy = "ZeroRedundancyOptimizer"

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.optimizer is not None:
            settings = {key: value for key, value in self.optimizer.defaults.items() if key in KEPT}
            self.optimizer = ZeroRedundancyOptimizer(
                self.model.parameters(), optimizer_class=type(self.optimizer), **settings)
            own = {parameter for group in self.optimizer.optim.param_groups for parameter in group["params"]}
            kept = torch.tensor([parameter in own for parameter in self.parameters.values()])
            ranks = [torch.empty_like(kept) for _ in range(self.setup.world)]
            distributed.all_gather(ranks, kept)
            self.owners = dict(zip(self.parameters, torch.stack(ranks).int().argmax(0).tolist()))
        return handles

    def evidence(self) -> Dict[str, Any]:
        own = [name for name, owner in self.owners.items() if owner == self.setup.rank]
        return dict(super().evidence(), updated_by_rank_0="{} of {} parameters".format(len(own), len(self.owners)))

    def _count(self) -> None:
        if isinstance(self.rule, Adam):
            for name, parameter in self.parameters.items():
                if self.owners[name] == self.setup.rank:
                    self.optimizer.optim.state[parameter]["step"] = torch.tensor(float(self.steps))

    def _slots(self) -> Iterator[Slot]:
        """Of parameters that another rank keeps, a copy."""
        for slot in self.rule.slots if self.rule and not self.memoryless else ():
            for name, parameter in self.parameters.items():
                state = self.optimizer.optim.state[parameter] if self.owners[name] == self.setup.rank else {}
                if SLOTS[slot] not in state:
                    state[SLOTS[slot]] = torch.zeros_like(parameter.detach())
                distributed.broadcast(state[SLOTS[slot]], self.owners[name])
                yield slot, name, state[SLOTS[slot]], 1.0
