"""DistributedDataParallel: every process has the whole model; gradients are averaged while the backward pass goes on.

Before each forward pass DDP hands the running statistics of rank 0 to the others. Option `hook` compresses gradients on
their way (`matrix_rank` says how far PowerSGD does), or leaves each process its own and averages parameters (each
`period` steps); `bucket` is how many MiB of gradients go at a time (PyTorch: 25). With `accumulate` each process takes
its share of a batch in so many parts, one after another, adds their gradients up, and sends the sum with the last.
"""

from typing import Any, Dict, List, Optional, Tuple

from torch.nn.parallel import DistributedDataParallel

from photofinish.frameworks import Arrays, Given, Setup, Unsupported
from photofinish.frameworks._torch.hooks import HOOKS, mean
from photofinish.frameworks._torch.rank import Rank, joined
from photofinish.frameworks._torch.source import native_source
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """The loss is that of the wrapped model; everything else knows the model itself. `earlier` are the outputs of the
    parts before the last, where they are going to be read."""

    strategy = "DistributedDataParallel"
    options = (*Rank.options, "hook", "bucket", "matrix_rank", "period", "accumulate")  # type: ignore[assignment]

    def __init__(self, setup: Setup) -> None:
        self.hook = HOOKS[setup.options.get("hook", "")](setup)
        self.period = self.hook.period
        self.bucket = float(setup.options["bucket"]) if "bucket" in setup.options else self.hook.bucket
        self.parts = int(setup.options.get("accumulate", "1"))
        if self.parts > 1 and "hook" in setup.options:
            raise Unsupported("a hook and accumulate have never been run together: leave one out")
        self.earlier: Optional[List[Any]] = None
        super().__init__(setup)

    def facts(self) -> Dict[str, Any]:
        bucket = {} if self.bucket is None else {"bucket_mb": self.bucket}
        parts = {"accumulate": self.parts} if self.parts > 1 else {}
        return dict(super().facts(), **bucket, **parts, **self.hook.facts())

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        if graph.state and self.parts > 1:
            raise Unsupported("the parts of a batch pass one after the other, and each would move running statistics")
        super().build(graph, batch, optimizer)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        handles = super()._make(graph, optimizer)
        if self.objective is not None and optimizer is not None:
            self.parallel, self.loss = DistributedDataParallel(self.model, bucket_cap_mb=self.bucket), self.objective
            self.hook.register(self.parallel)
            self.objective = self._loss if self.parts == 1 else self._accumulated
        return handles

    def _loss(self, model: Any, *batch: Any) -> Tuple[Any, Any]:
        return self.loss(self.parallel, *batch)  # type: ignore[no-any-return]

    def _accumulated(self, model: Any, *batch: Any) -> Tuple[Any, Any]:
        """The mean loss, whose gradients are those of the last part: the others' are added up already."""
        *parts, last = zip(*(each.chunk(self.parts) for each in batch))
        done = 0.0
        with self.parallel.no_sync():
            for part in parts:
                loss, outputs = self._loss(model, *part)
                (loss / self.parts).backward()
                done += loss.detach() / self.parts
                if self.earlier is not None:
                    self.earlier.append(outputs)
        loss, outputs = self._loss(model, *last)
        return loss / self.parts + done, outputs

    def put(self, arrays: Given) -> None:
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

    def read(self, handle: Any) -> Arrays:
        """Of outputs those of all parts."""
        return super().read(handle if not self.earlier else joined([*self.earlier, handle]))

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        """The gradients of a hook that keeps some for the next step are what is sent and what is kept, of this pass
        alone, which is no step: nothing is left of it."""
        if self.parts > 1:
            self.earlier = []
            try:
                return super()._backward(batch)
            finally:
                self.earlier = None
        while self.hook.waiting:
            super()._backward(batch)
        self.hook.renew()
        found, kept = super()._backward(batch), self.hook.kept()
        self.hook.renew()
        for name, parameter in self.parameters.items():
            if parameter in kept:
                found["gradient/" + name] += self._read("parameter/" + name, mean(kept[parameter]))
        return found
