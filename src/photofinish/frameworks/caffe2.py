# /// script
# requires-python = ">=3.6,<3.7"
# dependencies = ["torch==1.0.0", "onnx==1.3.0", "numpy<1.17", "protobuf==3.19.6", "future", "six"]
# [tool.photofinish]
# title = "Caffe2"
# module = "caffe2"
# brings = ["caffe2"]
# modes = ["default"]
# tasks = ["infer"]
# download = "620 MB"
# disk = "1.2 GB"
# devices = ["cpu"]
# options = {}
# layers = "_torch.exported"
# ///
"""Caffe2 as the studies of 2018 and 2019 deployed with it: the module that _torch/ prints, exported from PyTorch 1.0.0
by ONNX, and run by Caffe2, which comes with that PyTorch. It trains nothing here.

PyTorch shares the process, which exports the model: memory is that of both.
"""

import io
import os
from collections import Counter
from typing import Any, Dict, List, Optional

import numpy as np
import onnx
import torch
from caffe2.python.onnx import backend

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import on_torch
from photofinish.frameworks._common.engine import Engine
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._torch import model
from photofinish.frameworks._torch.exporter import mend
from photofinish.frameworks._torch.model import Exportable
from photofinish.frameworks._torch.since import fill
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

_infer = onnx.shape_inference.infer_shapes


def _inferred(model: Any) -> Any:
    """With the shapes that ONNX 1.3.0 tells; it takes the product of two lookups for a scalar."""
    try:
        return _infer(model)
    except RuntimeError:
        return model


fill(torch)
mend()
onnx.shape_inference.infer_shapes = _inferred


class Present(torch.nn.Module):  # type: ignore[misc]
    """A model without the outputs that only training has, which cannot be exported."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, *inputs: Any) -> Any:
        outputs = self.model(*inputs)
        return tuple(each for each in outputs if each is not None) if isinstance(outputs, tuple) else outputs


class Contestant(Engine):
    """Caffe2's own ONNX backend."""

    title = "Caffe2"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.regime == "matched":
            on_torch.match(torch, setup.threads)

    def facts(self) -> Dict[str, Any]:
        return {"version": torch.__version__, "onnx_version": onnx.__version__, "device": "cpu",
                "threads": os.environ.get("OMP_NUM_THREADS", "as Caffe2 chooses")}

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch, optimizer)
        self.module = execute(native_source(graph), "caffe2", graph).Model().eval()
        self.places = places(graph)

    def written(self, arrays: Arrays) -> Exportable:
        model.fill(self.module, self.places, arrays)
        return Present(self.module).eval(), tuple(map(torch.from_numpy, self.hold(self.zeros())))

    def operation(self, name: str, inputs: Arrays, constants: Arrays) -> Exportable:
        return model.operation(name, constants), tuple(map(torch.from_numpy, self.hold(inputs)))

    def load(self, model: Exportable) -> Any:
        file = io.BytesIO()
        try:
            torch.onnx.export(*model, file)
        except (AssertionError, RuntimeError) as error:  # the exporter asserts, too
            raise Unsupported("PyTorch {} does not export it to ONNX: {}".format(
                torch.__version__, str(error).split("\n")[0])) from error
        try:
            return backend.prepare(onnx.load_model_from_string(file.getvalue()))
        except RuntimeError as error:
            if "ONNX conversion failed" not in str(error):
                raise
            raise Unsupported("Caffe2 does not take what PyTorch {} exports of it".format(torch.__version__)) from error

    def hold(self, arrays: Arrays) -> List[np.ndarray]:
        """Integers as PyTorch's indices, masks as what it took for them then."""
        kinds = {"i": np.int64, "b": np.uint8}
        return [np.ascontiguousarray(values, kinds.get(values.dtype.kind, values.dtype)) for values in arrays.values()]

    def run(self, session: Any, batch: List[np.ndarray]) -> Any:
        return session.run(batch)

    def values(self, handle: Any) -> List[np.ndarray]:
        return [np.asarray(each) for each in handle]

    def evidence(self) -> Dict[str, Any]:
        """The operators of the net that runs."""
        return {"operators": dict(Counter(each.type for each in self.session.predict_net.op).most_common())}
