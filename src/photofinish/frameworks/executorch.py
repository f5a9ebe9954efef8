# /// script
# requires-python = ">=3.10"
# dependencies = ["executorch==1.4.1", "torch==2.13.0", "numpy"]
# [tool.photofinish]
# title = "ExecuTorch"
# modes = ["default"]
# tasks = ["infer"]
# download = "320 MB"
# disk = "1.5 GB"
# devices = ["cpu"]
# options = {}
# ///
"""ExecuTorch: the module that _torch/ prints, exported, its parts lowered to XNNPACK where that takes them, and run by
ExecuTorch's own runtime in Python. What XNNPACK leaves is run by ExecuTorch's portable kernels, one thread each.

PyTorch shares the process, which exports the model and holds what goes in and comes out: memory is that of both.
"""

import math
import warnings
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from executorch import version
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import on_torch
from photofinish.frameworks._common.engine import Engine
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._torch import model
from photofinish.frameworks._torch.model import Exportable
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

METHOD = "forward"
QUIET = "`isinstance(treespec, LeafSpec)` is deprecated"  # said of ExecuTorch's own code, at each export


class Session(NamedTuple):
    """A method and the program that it belongs to, with how often that calls each operator; a part that XNNPACK runs
    is one of them."""

    method: Any
    program: Any
    operators: Dict[str, int]


LEAST = torch.finfo(torch.float32).min  # stands in for minus infinity, which ExecuTorch's file format does not know


# What ExecuTorch 1.4.1 lacks or computes otherwise, in operators that it has (test_layers saw it).
def _pad(x: Any, pad: List[int], mode: str = "constant", value: Optional[float] = None) -> Any:
    """Its kernel takes nothing away."""
    for axis, (before, after) in enumerate(zip(pad[::2], pad[1::2])):
        dim = x.dim() - 1 - axis
        x = x.narrow(dim, max(0, -before), x.shape[dim] - max(0, -before) - max(0, -after))
    grown = [max(0, each) for each in pad]
    value = max(value or 0.0, LEAST)
    return torch.ops.aten.constant_pad_nd.default(x, grown, value) if any(grown) else x


def _average_pool_3d(x: Any, kernel: List[int], stride: List[int]) -> Any:
    """It has no kernel for it. That of a local response norm is flat in its last two dimensions, which can be one."""
    if (kernel[1:], stride) != ([1, 1], [1, 1, 1]):
        raise Unsupported("ExecuTorch has no pool over three dimensions")
    return torch.nn.functional.avg_pool2d(x.flatten(3), (kernel[0], 1), 1).unflatten(3, x.shape[3:])


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    """XNNPACK computes the exact function whatever is asked for."""
    if approximate == "none":
        return NotImplemented
    return 0.5 * x * (1 + torch.tanh((2 / math.pi) ** 0.5 * (x + 0.044715 * x * x * x)))


def _embedding_bag(weight: Any, ids: Any, offsets: Any, *settings: Any) -> Any:
    """It has no kernel for it: the graph's bags are sums of equally many rows."""
    bags = torch.nn.functional.embedding(ids.reshape(offsets.shape[0], -1), weight).sum(1)
    return bags, offsets, offsets, offsets


def _attention(query: Any, key: Any, value: Any, mask: Any = None, dropout: float = 0.0, causal: bool = False,
               **settings: Any) -> Any:
    """PyTorch's own way with matrix products: that of its fused kernel for CPUs leaves strides that cannot be kept."""
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.where(mask, 0.0, LEAST)
    return torch.ops.aten._scaled_dot_product_attention_math.default(
        query, key, value, mask, dropout, causal, **settings)[0]


ATEN = torch.ops.aten
WRITTEN_AROUND = {
    ATEN.pad.default: _pad, ATEN.avg_pool3d.default: _average_pool_3d, ATEN.gelu.default: _gelu,
    ATEN.embedding_bag.padding_idx: _embedding_bag, ATEN.scaled_dot_product_attention.default: _attention}


class Contestant(Engine):
    """ExecuTorch's runtime with XNNPACK."""

    title = "ExecuTorch"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        warnings.filterwarnings("ignore", message=QUIET)
        if setup.regime == "matched":
            on_torch.match(torch, setup.threads)
            portable_lib._unsafe_reset_threadpool(setup.threads)  # the one way, and before a program is loaded

    def facts(self) -> Dict[str, Any]:
        return {"version": version.__version__.partition("+")[0], "torch": torch.__version__, "device": "cpu",
                "threads": portable_lib._threadpool_get_thread_count(), "exporting_threads": torch.get_num_threads(),
                "backends": Runtime.get().backend_registry.registered_backend_names}

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch, optimizer)
        printed = execute(native_source(graph), "executorch", graph)
        self.module = printed.Model().eval()
        self.places = places(graph)

    def written(self, arrays: Arrays) -> Exportable:
        model.fill(self.module, self.places, arrays)
        return self.module, self.hold(self.zeros())

    def operation(self, name: str, inputs: Arrays, constants: Arrays) -> Exportable:
        return model.operation(name, constants), self.hold(inputs)

    def load(self, model: Exportable) -> Session:
        with torch.no_grad():
            exported = torch.export.export(*model).run_decompositions(WRITTEN_AROUND)
            edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        called = [getattr(node.target, "__name__", str(node.target))
                  for node in edge.exported_program().graph.nodes if node.op == "call_function"]
        called = [name for name in called if name != "getitem"]
        program = Runtime.get().load_program(edge.to_executorch().buffer)
        return Session(program.load_method(METHOD), program, dict(Counter(called).most_common()))

    def hold(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Tensors; integers as PyTorch's indices."""
        return tuple(torch.from_numpy(values.astype(np.int64) if values.dtype.kind == "i" else values)
                     for values in arrays.values())

    def run(self, session: Session, batch: Tuple[Any, ...]) -> Any:
        return session.method.execute(batch)

    def values(self, handle: Any) -> List[np.ndarray]:
        return [tensor.numpy() for tensor in handle if torch.is_tensor(tensor)]  # None: of training only

    def evidence(self) -> Dict[str, Any]:
        """The operators that the program calls: parts that XNNPACK has, and ExecuTorch's own kernels."""
        return {"kernels": self.session.operators}
