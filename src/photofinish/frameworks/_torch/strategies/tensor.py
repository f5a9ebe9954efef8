"""Tensor parallelism: every process sees the whole batch, and has a share of an attention's heads, or of the features
between two linear layers: so many columns of the layers before and rows of the one behind, which sums what all have
(Shoeybi et al. 2019; PyTorch's parallelize_module). Everything else each process computes whole.
"""

from functools import partial
from typing import Any, Optional

import numpy as np
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._torch.divisible import divisible, module_of
from photofinish.frameworks._torch.rank import Rank
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.strategies.fsdp2 import Contestant as Sharded
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]

class Contestant(Sharded):
    """What is split are DTensors; the rest is equal in all processes, which draw the same random numbers."""

    strategy = "parallelize_module"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        torch.manual_seed(setup.seed - setup.rank)  # each process is given a seed of its own

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super(Rank, self).build(graph, batch, optimizer)

    def feed(self, arrays: Arrays) -> Any:
        return super(Rank, self).feed(arrays)

    def _shard(self, graph: Graph) -> None:
        found, paths = list(divisible(graph, self.setup.world)), places(graph)
        if not found and not graph.random_nodes:  # the proof of these builds a graph that holds little else
            raise Unsupported("no attention and no two linear layers in a row that {} processes could share".format(
                self.setup.world))
        plan = {}
        for columns, attention, rows in found:
            for node in columns:  # a local output is a view, into which the model's activations must not write
                plan[module_of(node, paths)] = ColwiseParallel(use_local_output=attention is not None)
            plan[module_of(rows, paths)] = RowwiseParallel()
            if attention is not None:
                self._share_heads()
        parallelize_module(self.model, init_device_mesh("cpu", (self.setup.world,)), plan)

    def _share_heads(self) -> None:
        """In all of the model's attentions, which call one function."""
        names = type(self.model).forward.__globals__
        if not isinstance(names["multi_head_attention"], partial):
            names["multi_head_attention"] = partial(_with_own_heads, names["multi_head_attention"], self.setup.world)

    def _whole(self, values: np.ndarray) -> np.ndarray:
        return values


def _with_own_heads(attention: Any, world: int, query: Any, key: Any, value: Any, heads: int, **how: Any) -> Any:
    return attention(query, key, value, heads // world, **how)
