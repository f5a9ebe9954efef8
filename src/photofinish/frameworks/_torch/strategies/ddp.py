"""DistributedDataParallel: every process has the whole model; gradients are averaged while the backward pass goes on.

Before each forward pass DDP hands the running statistics of rank 0 to the others. Option `hook` compresses gradients on
their way (`matrix_rank` says how far PowerSGD does), or leaves each process its own and averages parameters (each
`period` steps); `bucket` is how many MiB of gradients go at a time (PyTorch: 25).
"""

from typing import Any, Dict, Tuple

from torch.nn.parallel import DistributedDataParallel

from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks._torch.hooks import HOOKS, mean
from photofinish.frameworks._torch.rank import Rank
from photofinish.frameworks._torch.source import native_source
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """The loss is that of the wrapped model; everything else knows the model itself."""

    strategy = "DistributedDataParallel"
    options = (*Rank.options, "hook", "bucket", "matrix_rank", "period")  # type: ignore[assignment]

    def __init__(self, setup: Setup) -> None:
        self.hook = HOOKS[setup.options.get("hook", "")](setup)
        self.bucket = float(setup.options["bucket"]) if "bucket" in setup.options else None
        super().__init__(setup)

    def facts(self) -> Dict[str, Any]:
        bucket = {} if self.bucket is None else {"bucket_mb": self.bucket}
        return dict(super().facts(), **bucket, **self.hook.facts())

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.objective is not None and optimizer is not None:
            parallel, loss = DistributedDataParallel(self.model, bucket_cap_mb=self.bucket), self.objective
            self.hook.register(parallel)
            self.objective = lambda model, *batch: loss(parallel, *batch)
        return handles

    def put(self, arrays: Arrays) -> None:
        super().put(arrays)
        self.hook.renew()

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        loss = super()._train(batch)
        self.hook.stepped(self.model)
        return loss

    def _settle(self) -> None:
        self.hook.settle(self.model)
        super()._settle()

    def _gradients(self, prefix: str) -> Arrays:
        self.hook.gather(self.model)
        return super()._gradients(prefix)

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        """The gradients of a hook that keeps some for the next step are what is sent and what is kept, of this pass
        alone, which is no step: nothing is left of it."""
        while self.hook.waiting:
            super()._backward(batch)
        self.hook.renew()
        found, kept = super()._backward(batch), self.hook.kept()
        self.hook.renew()
        for name, parameter in self.parameters.items():
            if parameter in kept:
                found["gradient/" + name] += self._read("parameter/" + name, mean(kept[parameter]))
        return found
