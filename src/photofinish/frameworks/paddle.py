# /// script
# requires-python = ">=3.9"
# dependencies = ["paddlepaddle==3.3.1", "setuptools", "numpy"]
# [tool.photofinish]
# title = "PaddlePaddle"
# modes = ["dynamic", "static"]
# download = "223 MB"
# disk = "890 MB"
# devices = ["cpu"]
# options = {}
# ///
"""Paddle: a graph is written out as the nn.Layer a person would write, and that source is what runs.

The writing is in _paddle/. Mode static is paddle.jit.to_static: Paddle's compiler CINN is not in the package for CPUs
(paddle.is_compiled_with_cinn() is False), so programs are run by Paddle's executor, kernel by kernel. Left alone,
Paddle computes in one thread.
"""

import linecache
import os
import sys
import types
from collections import Counter
from functools import reduce
from typing import Any, Callable, Dict, Iterator, NamedTuple, Optional, Tuple

import numpy as np
import paddle
from paddle.nn import functional

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.frameworks._paddle.source import native_source, places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

ONEDNN = "FLAGS_use_mkldnn"
CONVENTIONS = {
    "adam": "the moments grow by 1 - beta in float32, which Paddle divides out again; converted when read",
    "batch_norm": "the running variance takes n in training (Paddle); converted when read or used"}
MODES = ("dynamic", "static")
BETAS = {"moment1": "beta1", "moment2": "beta2"}
POWERS = {"beta1_pow_acc": "beta1", "beta2_pow_acc": "beta2"}  # what Adam keeps instead of a count of steps
DTYPES = {"f": "float32", "b": "bool"}  # integers are indices: int64


def matmul(a: Any, b: Any) -> Any:
    return paddle.matmul(a, b)


def multiply(a: Any, b: Any) -> Any:
    return paddle.multiply(a, b)


def conv(image: Any, weight: Any) -> Any:
    return functional.conv2d(image, weight, padding=1)


PROBES: Dict[str, Callable[..., Any]] = {"matmul": matmul, "multiply": multiply, "conv": conv}


def _load(graph: Graph) -> Any:
    """The source of a graph as a module that tracebacks and to_static can read."""
    source, filename = native_source(graph), "<photofinish_paddle_{}>".format(graph.digest[:12])
    module: Any = types.ModuleType(filename[1:-1])
    sys.modules[module.__name__] = module
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), vars(module))
    return module


def _optimizer(optimizer: optimizers.Optimizer, parameters: Any) -> Any:
    if isinstance(optimizer, optimizers.Adam):
        return paddle.optimizer.Adam(optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon,
                                     parameters=parameters)
    if optimizer.momentum == 0:
        return paddle.optimizer.SGD(optimizer.learning_rate, parameters=parameters)
    return paddle.optimizer.Momentum(optimizer.learning_rate, optimizer.momentum, parameters=parameters)


def _array(tensor: Any) -> np.ndarray:
    return np.array(tensor.numpy(), order="C")


def _gradient(parameter: Any) -> np.ndarray:
    """Zeros where none arrived."""
    return np.zeros(parameter.shape, np.float32) if parameter.grad is None else _array(parameter.grad)


class Batch(NamedTuple):
    """A batch on the device; `all` has the targets behind the inputs."""

    inputs: Tuple[Any, ...]
    all: Tuple[Any, ...]


class Contestant(frameworks.Contestant):
    """Paddle in mode "dynamic", or "static": to_static of the function that returns the loss, and for inference of the
    model; the optimizer stays as paddle.optimizer ships it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode not in MODES:
            raise Unsupported("Paddle has no mode {}: {}".format(setup.mode, ", ".join(MODES)))
        if setup.options or setup.device != "cpu" or setup.precision != "float32":
            raise Unsupported("paddle takes no options and runs in float32 on the cpu here, not {} in {} on {}".format(
                setup.options, setup.precision, setup.device))
        paddle.set_device("cpu")
        paddle.seed(setup.seed)
        self.operations: Dict[str, Any] = {}  # the probes that were used, in this mode
        self.flushed = False
        if setup.regime == "matched":
            self.flushed = denormals.flush()  # before a thread is made, which inherits it
            paddle.base.core.set_num_threads(setup.threads)

    def facts(self) -> Dict[str, Any]:
        return {"version": paddle.__version__, "commit": paddle.version.commit, "device": paddle.device.get_device(),
                "threads": self.setup.threads if self.setup.regime == "matched" else os.environ["OMP_NUM_THREADS"],
                "denormals": "flushed through the C library" if self.flushed else "as they come",
                "onednn": paddle.get_flags(ONEDNN)[ONEDNN], "cinn": paddle.is_compiled_with_cinn(), **CONVENTIONS}

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        self.graph = graph
        self.rule = optimizer
        source = _load(graph)
        self.model = source.Model()
        self.places = places(graph)
        self.tensors = {name: reduce(getattr, place.path.split("."), self.model) for name, place in self.places.items()}
        self.forward = self._in_mode(self.model)
        self.objective: Any = self._in_mode(source.training_loss) if graph.losses else None
        self.optimizer: Any = _optimizer(optimizer, self.model.parameters()) if optimizer else None
        self.variances = SampleVariances(graph, batch, optimizer is not None)
        if self.optimizer is not None:  # a step of nothing: Paddle makes the slots at the first one
            for parameter in self.model.parameters():
                parameter.grad = paddle.zeros_like(parameter)
            self.optimizer.step()
        self.steps = 0

    def _in_mode(self, function: Any) -> Any:
        return paddle.jit.to_static(function, full_graph=True) if self.setup.mode == "static" else function

    def put(self, arrays: Arrays) -> None:
        """In place, so that programs stay valid."""
        for name, tensor in self.tensors.items():
            group = "parameter/" if name in self.graph.parameters else "state/"
            self._store(tensor, name, arrays[group + name])
        self.steps = int(arrays.get("step", 0))
        for slot, name, tensor, factor in self._slots():
            given = arrays.get(slot + "/" + name, np.zeros(self.graph.parameters[name].shape))
            self._store(tensor, name, given * factor)
        self._count()
        self.model.clear_gradients()
        self.variances.begin(arrays, self.steps)
        self.settled = True  # the model itself holds the running variances of the graph's convention

    def _store(self, tensor: Any, name: str, array: np.ndarray) -> None:
        """Puts what belongs to a parameter or state of that name into its own tensor, or into one like it."""
        tensor.set_value(np.ascontiguousarray(self.places[name].native(array), np.float32))

    def _slots(self) -> Iterator[Tuple[str, str, Any, float]]:
        """(slot, parameter name, tensor, factor from canonical to Paddle's values) of the optimizer. Without momentum
        it keeps none. Adam's moments are Paddle's by 1 - beta in float32, which it divides out again."""
        kept = self.optimizer.state_dict() if self.optimizer is not None else {}
        for slot in self.rule.slots if self.rule else ():
            beta = getattr(self.rule, BETAS.get(slot, ""), 0.0)
            for name in self.graph.parameters:
                key = "{}_{}_0".format(self.tensors[name].name, slot)
                if key in kept:
                    yield slot, name, kept[key], (1 - float(np.float32(beta))) / (1 - beta)

    def _count(self) -> None:
        """Adam's own count of steps: the powers of its betas, which Paddle multiplies up."""
        kept = self.optimizer.state_dict() if isinstance(self.rule, optimizers.Adam) else {}
        for key, tensor in kept.items():
            for name, beta in POWERS.items():
                if key.endswith("_{}_0".format(name)):
                    factors = np.full(self.steps + 1, getattr(self.rule, beta), np.float32)
                    tensor.set_value(np.multiply.reduce(factors).reshape(tensor.shape))

    def get(self) -> Arrays:
        arrays = {("parameter/" if name in self.graph.parameters else "state/") + name:
                  self.places[name].canonical(_array(tensor)) for name, tensor in self.tensors.items()}
        arrays.update(self.variances.canonical(arrays, self.steps) if not self.settled else {})
        for slot, name, tensor, factor in self._slots():
            value = self.places[name].canonical(_array(tensor))
            arrays["{}/{}".format(slot, name)] = (value / np.float64(factor)).astype(value.dtype)
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _settle(self) -> None:
        """Before inference that follows training: the running variances in the graph's convention."""
        arrays = self.get()
        for name in self.variances.terms:
            own = name.split("/", 1)[1]
            self._store(self.tensors[own], own, arrays[name])
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def feed(self, arrays: Arrays) -> Batch:
        inputs, targets = (tuple(self._tensor(arrays[name]) for name, _ in group if name in arrays)
                           for group in (self.graph.inputs, self.graph.targets))
        return Batch(inputs, inputs + targets)

    def _tensor(self, array: np.ndarray) -> Any:
        return paddle.to_tensor(np.array(array, DTYPES.get(array.dtype.kind, "int64"), order="C"))

    def train_step(self, batch: Batch) -> Any:
        if not self.model.training:
            self.model.train()
        self.settled = False
        self.optimizer.clear_grad()
        loss, _ = self.objective(self.model, *batch.all)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss

    def infer(self, batch: Batch) -> Any:
        if not self.settled:
            self._settle()
        if self.model.training:
            self.model.eval()
        with paddle.no_grad():
            return self.forward(*batch.inputs)

    def gradients(self, batch: Batch) -> Arrays:
        before = {name: _array(self.tensors[name]) for name in self.graph.state}
        self.model.train()
        self.model.clear_gradients()
        loss, outputs = self.objective(self.model, *batch.all)
        loss.backward()
        arrays = {"gradient/" + name: self.places[name].canonical(_gradient(self.tensors[name]))
                  for name in self.graph.parameters}
        arrays.update(self.read(outputs), loss=_array(loss))
        self.model.clear_gradients()
        for name, values in before.items():
            self.tensors[name].set_value(values)
        return arrays

    def wait(self, handle: Any) -> None:
        """On a CPU Paddle has finished when it returns, in both modes."""

    def read(self, handle: Any) -> Arrays:
        if paddle.is_tensor(handle) and handle.ndim == 0:  # outputs have a batch axis, the loss has none
            return {"loss": _array(handle)}
        outputs = (handle,) if paddle.is_tensor(handle) else handle
        return {"output/" + name: _array(tensor) for name, tensor in zip(self.graph.outputs, outputs)}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("paddle has no probe {}".format(name))
        operation = self.operations.setdefault(name, self._in_mode(PROBES[name]))
        with paddle.no_grad():
            return {"result": _array(operation(*map(self._tensor, arrays.values())))}

    def evidence(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"layout": "contiguous", "compiled": False}
        programs = {"train": self.objective, "infer": getattr(self.forward, "forward", self.forward)}
        return dict(found, **{name: _program(each) for name, each in programs.items()
                              if hasattr(each, "program_cache")})


def _program(converted: Any) -> Dict[str, Any]:
    """Of a function that to_static has converted: how many programs it became, and the operations of the last."""
    if not len(converted.program_cache):
        return {"programs": 0}
    kinds = Counter(each.name() for each in converted.concrete_program.main_program.global_block().ops)
    return {"programs": len(converted.program_cache),
            "operations": {kind: count for kind, count in kinds.items() if kind.startswith("pd_op.")}}
