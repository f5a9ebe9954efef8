# /// script
# requires-python = ">=3.10"
# dependencies = ["tensorflow-cpu==2.21.0", "numpy"]
# [tool.photofinish]
# title = "TensorFlow"
# brings = ["keras"]
# modes = ["eager", "graph", "xla", "savedmodel", "bf16"]
# tasks = { savedmodel = ["infer"] }
# precisions = { bf16 = ["bfloat16", "graph"] }
# compiles = { xla = "seconds", savedmodel = "seconds" }
# download = "320 MB"
# disk = "1.6 GB"
# devices = ["cpu", "cuda"]
# never-run = ["cuda"]
# options = { build = [], onednn = ["on", "off"], cache = ["off", "on"] }
# builds = { "keras.applications" = "keras" }
# [tool.photofinish.variables]
# onednn = { on = { TF_ENABLE_ONEDNN_OPTS = "1" }, off = { TF_ENABLE_ONEDNN_OPTS = "0" } }
# cache = { on = { TF_XLA_FLAGS = "--tf_xla_persistent_cache_directory={cache}/xla" }, off = {} }
# [tool.photofinish.unused]
# "onednn=on" = [
#     "Mkl",
#     "none of oneDNN's kernels runs: TensorFlow asks for them itself on processors with VNNI or AMX only",
# ]
# [tool.photofinish.strategies]
# mirrored = { modes = ["graph"], devices = ["cpu"], one-process = true }
# multiworker = { modes = ["graph"], devices = ["cpu"] }
# [tool.photofinish.lines]
# threads = [
#     "tf.config.threading.set_intra_op_parallelism_threads({value})",
#     "tf.config.threading.set_inter_op_parallelism_threads({value})",
# ]
# "mode=eager" = []
# "mode=graph" = ["train_step = tf.function(train_step)"]
# "mode=xla" = ["train_step = tf.function(train_step, jit_compile=True)"]
# "mode=savedmodel" = [
#     'infer = tf.saved_model.load(folder).signatures["serving_default"]  # of what tf.saved_model.save wrote',
# ]
# "mode=bf16" = ['keras.mixed_precision.set_global_policy("mixed_bfloat16")', "train_step = tf.function(train_step)"]
# [[tool.photofinish.recipes]]
# version = "<2"
# python = ">=3.6,<3.7"
# dependencies = ["tensorflow==1.12.0", "numpy<1.17", "h5py<3", "protobuf<3.20", "termcolor<1.2", "setuptools<60"]
# download = "110 MB"
# disk = "450 MB"
# modes = ["graph", "keras"]
# driver = "_tensorflow.session"
# layers = "_keras.keras2"
# hazards = "the wheels know AVX, but no AVX2, FMA or AVX-512"
# [[tool.photofinish.recipes]]
# version = ">=2,<2.2"
# python = ">=3.7,<3.8"
# dependencies = ["tensorflow-cpu", "numpy<1.20", "protobuf<3.20"]
# modes = ["graph", "eager", "xla"]
# driver = "_tensorflow.keras2"
# layers = "_keras.keras2"
# [[tool.photofinish.recipes]]
# version = ">=2.2,<2.9"
# python = ">=3.8,<3.9"
# dependencies = ["tensorflow-cpu==2.5.0", "numpy<1.20", "protobuf<3.20"]
# download = "210 MB"
# disk = "860 MB"
# modes = ["graph", "eager", "xla"]
# driver = "_tensorflow.keras2"
# layers = "_keras.keras2"
# hazards = "wheels of 2021 use oneDNN where TF_ENABLE_ONEDNN_OPTS=1 says so, which is off unless it is set"
# [[tool.photofinish.recipes]]
# version = ">=2.9,<2.11"
# python = ">=3.9,<3.11"
# dependencies = ["tensorflow-cpu", "numpy<1.24", "protobuf<3.20"]
# modes = ["graph", "eager", "xla"]
# driver = "_tensorflow.keras2"
# layers = "_keras.keras2"
# [[tool.photofinish.recipes]]
# version = ">=2.11,<2.16"
# python = ">=3.9,<3.11"
# dependencies = ["tensorflow-cpu==2.15.1", "numpy<2"]
# modes = ["graph", "eager", "xla"]
# driver = "_tensorflow.keras2_late"
# layers = "_keras.keras2"
# [[tool.photofinish.recipes]]
# version = ">=2.16,<2.20"
# python = ">=3.9,<3.13"
# dependencies = ["tensorflow-cpu", "numpy"]
# ///
"""TensorFlow as its users have it: a Keras 3 model and a training step of their own.

The model and the step are the code that _keras/ prints; here it is executed and fed, in a mode of _tensorflow/modes/.
"""

import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Given, Setup, Unsupported
from photofinish.frameworks._common import on_tensorflow
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.modes import find, names
from photofinish.frameworks._keras.base import CONVENTIONS, KerasContestant
from photofinish.frameworks._keras.source import native_source
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Optimizer

__all__ = ["Contestant", "native_source"]

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf


class Contestant(KerasContestant):
    """Runs a Keras model and its steps as the mode says."""

    library = keras
    title = "TensorFlow"
    backend = "tensorflow"
    modes = names("tensorflow")
    precisions = ("float32", "float64")
    devices = ("cpu", "cuda")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.mode = find("tensorflow", setup.mode)(tf, setup)
        self.bound: Dict[str, Callable[..., Any]] = {}
        on_tensorflow.prepare(tf, setup)

    def facts(self) -> Dict[str, Any]:
        versions = {"version": tf.__version__, "keras": keras.__version__, "numpy": np.__version__}
        return dict(versions, **on_tensorflow.facts(tf), **CONVENTIONS, xla=self.mode.compiled,
                    **(self.shipped.facts() if self.shipped else {}))

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self._release()
        super().build(graph, batch, optimizer if self.mode.trains else None)
        self.bound = {}

    def _release(self) -> None:
        """The memory of a model that another is to follow: TensorFlow keeps the graphs it was trained by, and so its
        variables, in a registry of custom gradients."""
        for each in (self.model, self.updater):
            for variable in each.variables if each else ():
                tf.raw_ops.AssignVariableOp(resource=variable.value.handle, value=tf.zeros((), variable.value.dtype))

    def put(self, arrays: Given) -> None:
        super().put(arrays)
        self.mode.renew(self)

    def _make(self, shipped: str) -> None:
        source = native_source(self.graph, self.optimizer, self.mode.written, shipped)
        self.native = vars(execute(source, self.writer("tensorflow", shipped), self.graph))
        self.model = self.native["model"]
        self.updater = self.native.get("optimizer")
        if self.setup.precision == "float64" and self.updater is not None and isinstance(self.optimizer, SGD):
            self.updater.momentum = np.float64(self.optimizer.momentum)  # tf.cast would round a Python float to float32

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.mode.function(function)  # type: ignore[no-any-return]

    def _bind(self, name: str, arguments: Tuple[Any, ...]) -> Callable[..., Any]:
        """A step as the mode runs it, kept for the steps to come."""
        if name not in self.native:
            raise Unsupported("no {} without an optimizer and a loss".format(name) if self.mode.trains else
                              "tensorflow:{} runs inference only".format(self.setup.mode))
        bound: Callable[..., Any] = self.mode.bind(self, name, self.mode.specs(arguments))
        self.bound[name] = bound
        return bound

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        self.settled = False
        return (self.bound.get("train_step") or self._bind("train_step", batch))(*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        inputs = batch[:len(self.graph.inputs)]
        return (self.bound.get("infer") or self._bind("infer", inputs))(*inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        if not self.mode.trains:
            raise Unsupported("tensorflow:{} runs inference only".format(self.setup.mode))
        if "gradients" not in self.native:
            loss_of = self.native["loss_of"]
            self.native["gradients"] = self._in_mode(on_tensorflow.differentiated(
                tf, self.model, lambda outputs, labels: loss_of(outputs, *labels)))
        count = len(self.graph.inputs)
        x = batch[0] if count == 1 else list(batch[:count])
        return self.native["gradients"](x, batch[count:])  # type: ignore[no-any-return]

    def wait(self, handle: Any) -> None:
        """On a CPU TensorFlow has finished when it returns, unless it was told to be asynchronous; a look at where a
        value lies holds in any case, and copies none of it. On a GPU the stream is waited for: the loss is there
        before the updates are."""
        if self.setup.device != "cpu":
            tf.test.experimental.sync_devices()
        else:
            for tensor in handle.values() if isinstance(handle, dict) else (handle,):
                memoryview(tensor).release()

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_tensorflow.device_memory(tf, self.setup.device)

    def evidence(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"layout": "channels_last", "compiled": self.mode.compiled}
        return dict(found, **{name: self.mode.seen(self, name, bound) for name, bound in self.bound.items()})

    def resized(self) -> None:
        """A trace is of one size; those of sizes that were there before are found again."""
        self.bound = {}

    def compilations(self) -> int:
        """The traces of its tf.functions. XLA compiles each of them once."""
        return sum(each.experimental_get_tracing_count() for each in self.native.values()
                   if hasattr(each, "experimental_get_tracing_count"))
