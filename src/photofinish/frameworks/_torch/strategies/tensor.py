"""Tensor parallelism: every process sees the whole batch, and has a share of an attention's heads, or of the features
between two linear layers: so many columns of the layers before and rows of the one behind, which sums what all have
(Shoeybi et al. 2019; PyTorch's parallelize_module). Everything else each process computes whole.
"""

from collections import Counter
from functools import partial
from typing import Any, Dict, Iterator, Optional, Tuple

import numpy as np
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._torch.rank import Rank
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.strategies.fsdp2 import Contestant as Sharded
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph, Node
from photofinish.layers import Attention, Clip, Elu, Gelu, LeakyRelu, Linear, Relu, Sigmoid, Swish, Tanh
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]

ALONE = (Clip, Elu, Gelu, LeakyRelu, Relu, Sigmoid, Swish, Tanh)  # that look at one feature at a time
Block = Tuple[Tuple[Node, ...], Optional[Node], Node]  # split by columns, the attention between, split by rows


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
                plan[_module(node, paths)] = ColwiseParallel(use_local_output=attention is not None)
            plan[_module(rows, paths)] = RowwiseParallel()
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


def divisible(graph: Graph, world: int) -> Iterator[Block]:
    """The blocks of a graph that so many processes can share: attentions, if they can share every one of them, and
    pairs of linear layers with nothing between that mixes features."""
    maker = {output: node for node in graph.nodes for output in node.outputs}
    uses = Counter([name for node in graph.nodes for name in node.inputs] + list(graph.outputs)
                   + [loss.prediction for loss in graph.losses])
    owners = Counter(name for node in graph.nodes for _, name in node.parameters)
    taken = set()

    def linear(name: str) -> Optional[Node]:
        """The linear layer that makes it for one reader alone, and shares its parameters with nobody."""
        node = maker.get(name)
        if node is None or not isinstance(node.layer, Linear) or uses[name] > 1 or node.name in taken:
            return None
        shared = any(owners[each] > 1 for _, each in node.parameters) or graph.spec(name).size("C") % world
        return None if shared else node

    def before(node: Node) -> Optional[Node]:
        """What made its input, but for what looks at one feature at a time."""
        made = maker.get(node.inputs[0])
        while made is not None and isinstance(made.layer, ALONE) and uses[made.name] == 1:
            made = maker.get(made.inputs[0])
        return made

    blocks = []
    for rows in graph.nodes:
        made = before(rows) if isinstance(rows.layer, Linear) else None
        if made is None or any(owners[name] > 1 for _, name in rows.parameters):
            continue
        heads = made.layer.heads if isinstance(made.layer, Attention) and uses[made.name] == 1 else 0
        columns = [node for node in map(linear, made.inputs[:3] if heads else made.outputs) if node is not None]
        if len(columns) == (3 if heads else 1) and heads % world == 0:
            blocks.append((tuple(columns), made if heads else None, rows))
            taken |= {rows.name, *(node.name for node in columns)}
    every = {node.name for node in graph.nodes if isinstance(node.layer, Attention)}
    shared = {between.name for _, between, _ in blocks if between}
    return (block for block in blocks if block[1] is None or shared == every)


def _module(node: Node, paths: Dict[str, Any]) -> str:
    return str(paths[dict(node.parameters)["weight"]].path).rpartition(".")[0]
