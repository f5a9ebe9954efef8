"""DistributedDataParallel: every process has the whole model; gradients are averaged while the backward pass goes on.

Before each forward pass DDP hands the running statistics of rank 0 to the others.
"""

from typing import Any, Dict

from torch.nn.parallel import DistributedDataParallel

from photofinish.frameworks._torch.rank import Rank
from photofinish.frameworks._torch.source import native_source
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """The loss is that of the wrapped model; everything else knows the model itself."""

    strategy = "DistributedDataParallel"

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.objective is not None and optimizer is not None:
            parallel, loss = DistributedDataParallel(self.model), self.objective
            self.objective = lambda model, *batch: loss(parallel, *batch)
        return handles
