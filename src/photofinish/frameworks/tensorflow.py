# /// script
# requires-python = ">=3.10"
# dependencies = ["tensorflow-cpu==2.21.0", "numpy"]
# [tool.photofinish]
# title = "TensorFlow"
# modes = ["eager", "graph", "xla"]
# download = "320 MB"
# disk = "1.6 GB"
# devices = ["cpu", "cuda"]
# options = { build = [] }
# builds = { "keras.applications" = "keras" }
# ///
"""TensorFlow as its users have it: a Keras 3 model and a training step of their own, in three modes.

The model and the step are the code that _keras/ prints; here it is executed and fed.
"""

import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._common import on_tensorflow
from photofinish.frameworks._keras.base import CONVENTIONS, KerasContestant, execute
from photofinish.frameworks._keras.source import MODES, native_source
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Optimizer

__all__ = ["Contestant", "native_source"]

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf


def _specs(arguments: Any) -> List[Any]:
    """What tf.function tells traces apart by, without names."""
    return [tf.TensorSpec(each.shape, each.dtype) for each in arguments]


class Contestant(KerasContestant):
    """Runs a Keras model in plain Python (eager), as a tf.function (graph) or compiled by XLA (xla)."""

    library = keras
    title = "TensorFlow"
    backend = "tensorflow"
    modes = tuple(MODES)
    precisions = ("float32", "float64")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.bound: Dict[str, Callable[..., Any]] = {}
        on_tensorflow.prepare(tf, setup)

    def facts(self) -> Dict[str, Any]:
        versions = {"version": tf.__version__, "keras": keras.__version__, "numpy": np.__version__}
        return dict(versions, **on_tensorflow.facts(tf), **CONVENTIONS, xla=self.setup.mode == "xla",
                    **(self.shipped.facts() if self.shipped else {}))

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch, optimizer)
        self.bound = {}

    def _make(self, shipped: str) -> None:
        self.native = execute(native_source(self.graph, self.optimizer, self.setup.mode, shipped),
                              "<keras {}{} {}>".format(self.setup.mode, " shipped" if shipped else "",
                                                       self.graph.digest[:12]))
        self.model = self.native["model"]
        self.updater = self.native.get("optimizer")
        if self.setup.precision == "float64" and self.updater is not None and isinstance(self.optimizer, SGD):
            self.updater.momentum = np.float64(self.optimizer.momentum)  # tf.cast would round a Python float to float32

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        options = MODES[self.setup.mode]
        return function if options is None else tf.function(function, **options)  # type: ignore[no-any-return]

    def _bind(self, name: str, arguments: Tuple[Any, ...]) -> Callable[..., Any]:
        """The traced function for these arguments, looked up once: no step pays for a search of traces."""
        if name not in self.native:
            raise Unsupported("no {} without an optimizer and a loss".format(name))
        function: Callable[..., Any] = self.native[name]
        if self.setup.mode != "eager":
            function = self.native[name].get_concrete_function(*_specs(arguments))
        self.bound[name] = function
        return function

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        self.settled = False
        return (self.bound.get("train_step") or self._bind("train_step", batch))(*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        inputs = batch[:len(self.graph.inputs)]
        return (self.bound.get("infer") or self._bind("infer", inputs))(*inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        if "gradients" not in self.native:
            loss_of = self.native["loss_of"]
            self.native["gradients"] = self._in_mode(on_tensorflow.differentiated(
                tf, self.model, lambda outputs, labels: loss_of(outputs, *labels)))
        count = len(self.graph.inputs)
        x = batch[0] if count == 1 else list(batch[:count])
        return self.native["gradients"](x, batch[count:])  # type: ignore[no-any-return]

    def wait(self, handle: Any) -> None:
        """On a CPU TensorFlow has finished when it returns, unless it was told to be asynchronous; reading a
        value out holds in any case and costs a microsecond. On a GPU the stream is waited for: the loss is
        there before the updates are."""
        if self.setup.device != "cpu":
            tf.test.experimental.sync_devices()
        else:
            for tensor in handle.values() if isinstance(handle, dict) else (handle,):
                tensor.numpy()

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_tensorflow.device_memory(tf, self.setup.device)

    def evidence(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"layout": "channels_last", "compiled": self.setup.mode == "xla"}
        return dict(found, **{name: self._seen(name, function) for name, function in self.bound.items()})

    def _seen(self, name: str, traced: Any) -> Dict[str, Any]:
        """Of a function that has run: how often it was traced, and what became of it."""
        if self.setup.mode == "eager":
            return {"traces": 0}
        function = self.native[name]
        arguments = _specs(traced.structured_input_signature[0])
        found = {"traces": function.experimental_get_tracing_count(),
                 "graph_nodes": len(traced.graph.as_graph_def().node)}
        if self.setup.mode == "graph":
            return dict(found, kernels=self._kernels(function.python_function, arguments))
        compiled = function.experimental_get_compiler_ir(*arguments)(stage="optimized_hlo")
        return dict(found, fused_kernels=compiled.count(" fusion("), library_calls=compiled.count(" custom-call("))

    def _kernels(self, function: Callable[..., Any], arguments: Any) -> Dict[str, int]:
        """The fused and oneDNN operations of a graph after TensorFlow's rewrites, with how many there are: seen
        by running a fresh trace on zeros, whose effects are undone."""
        from tensorflow.python.eager import context  # the rewritten graph has no public door
        variables = self.model.variables + (self.updater.variables if self.updater is not None else [])
        before = [variable.numpy() for variable in variables]
        context.enable_graph_collection()
        try:
            tf.function(function)(*(tf.zeros(each.shape, each.dtype) for each in arguments))
            metadata = context.export_run_metadata()
        finally:
            context.disable_graph_collection()
            for variable, value in zip(variables, before):
                variable.assign(value)
        operations = [node.op for function in metadata.function_graphs for part in function.partition_graphs
                      for node in part.node]
        return {name: operations.count(name) for name in sorted(set(operations)) if "Mkl" in name or "Fused" in name}
