"""Fully sharded data parallel, version 2: each process keeps a share of every parameter, gathers the whole model for a
pass, and keeps its share of the averaged gradient (fully_shard of the model as one).

Running statistics are not sharded; each process moves its own.
"""

from typing import Any, Dict, List, Tuple

import numpy as np
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._torch.rank import Rank
from photofinish.frameworks._torch.source import native_source
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """Parameters, gradients and what the optimizer keeps are DTensors; they are read whole."""

    strategy = "fully_shard"

    def __init__(self, setup: Setup) -> None:
        if setup.options.get("layout", "contiguous") != "contiguous":
            raise Unsupported("{} takes contiguous parameters only: leave the layout out".format(self.strategy))
        if setup.options.get("fused", "off") != "off":  # of its DTensors, SGD's kernel has no sharding strategy
            raise Unsupported("{} has no fused optimizers: leave fused=on out".format(self.strategy))
        super().__init__(setup)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        super()._make(graph, optimizer)
        self._shard(graph)
        if self.optimizer is not None:
            self.optimizer = type(self.optimizer)(self.model.parameters(), **self.optimizer.defaults)
        tensors = self.model.state_dict(keep_vars=True)
        self.parameters = {name: tensors[self.places["parameter/" + name].path] for name in self.parameters}
        return {name: tensors[place.path] for name, place in self.places.items()}

    def _shard(self, graph: Graph) -> None:
        """Makes each process' share of the model, which is whole, its own."""
        fully_shard(self.model, mesh=init_device_mesh("cpu", (self.setup.world,)))

    def evidence(self) -> Dict[str, Any]:
        shards: List[int] = [(each.to_local() if isinstance(each, DTensor) else each).numel()
                             for each in self.parameters.values()]
        whole = sum(each.numel() for each in self.parameters.values())
        return dict(super().evidence(), kept_by_rank_0="{:,} of {:,} parameters".format(sum(shards), whole))

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        """Not in inference mode: what is gathered there cannot be trained with afterwards."""
        if self.model.training:
            self.model.eval()
        with torch.no_grad():
            return self.forward(*inputs)

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return super()._read(name, _whole(handle))

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        if not isinstance(handle, DTensor):
            super()._write(name, handle, array)
            return
        native = self._tensor(self.places[name].native(array))
        with torch.no_grad():
            handle.copy_(distribute_tensor(native, handle.device_mesh, handle.placements))

    def _gradients(self, prefix: str) -> Arrays:
        return {prefix + name: self._read("parameter/" + name, torch.zeros_like(parameter) if parameter.grad is None
                                          else parameter.grad) for name, parameter in self.parameters.items()}


def _whole(tensor: Any) -> Any:
    return tensor.detach().full_tensor() if isinstance(tensor, DTensor) else tensor
