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
# [tool.photofinish.lines]
# threads = ["paddle.base.core.set_num_threads({value})"]
# "mode=dynamic" = []
# "mode=static" = ["model = paddle.jit.to_static(model, full_graph=True)"]
# ///
"""Paddle: a graph is written out as the nn.Layer a person would write, and that source is what runs.

The writing is in _paddle/. Mode static is paddle.jit.to_static: Paddle's compiler CINN is not in the package for CPUs
(paddle.is_compiled_with_cinn() is False), so programs are run by Paddle's executor, kernel by kernel. Left alone,
Paddle computes in one thread.
"""

import os
from collections import Counter
from functools import reduce
from typing import Any, Callable, Dict, Iterator, Tuple

import numpy as np
import paddle
from paddle.nn import functional

from photofinish import optimizers
from photofinish.frameworks import Arrays, Given, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.frameworks._paddle.source import native_source
from photofinish.frameworks._paddle.weights import places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

ONEDNN = "FLAGS_use_mkldnn"
CONVENTIONS = {
    "adam": "the moments grow by 1 - beta in float32, which Paddle divides out again; converted when read",
    "batch_norm": "the running variance takes n in training (Paddle); converted when read or used"}
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


def _optimizer(optimizer: optimizers.Optimizer, parameters: Any) -> Any:
    if isinstance(optimizer, optimizers.Adam):
        return paddle.optimizer.Adam(optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon,
                                     parameters=parameters)
    if optimizer.momentum == 0:
        return paddle.optimizer.SGD(optimizer.learning_rate, parameters=parameters)
    return paddle.optimizer.Momentum(optimizer.learning_rate, optimizer.momentum, parameters=parameters)


def _array(tensor: Any) -> np.ndarray:
    return np.array(tensor.numpy(), order="C")


def _tensor(array: np.ndarray) -> Any:
    return paddle.to_tensor(np.array(array, DTYPES.get(array.dtype.kind, "int64"), order="C"))


def _gradient(parameter: Any) -> np.ndarray:
    """Zeros where none arrived."""
    return np.zeros(parameter.shape, np.float32) if parameter.grad is None else _array(parameter.grad)


class Contestant(Trainer):
    """Paddle in mode "dynamic", or "static": to_static of the function that returns the loss, and for inference of the
    model; the optimizer stays as paddle.optimizer ships it."""

    title = "Paddle"
    modes = ("dynamic", "static")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
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

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "paddle", graph)
        self.model = source.Model()
        self.forward = self._in_mode(self.model)
        self.objective: Any = self._in_mode(source.training_loss) if graph.losses else None
        self.optimizer: Any = _optimizer(optimizer, self.model.parameters()) if optimizer else None
        if self.optimizer is not None:  # a step of nothing: Paddle makes the slots at the first one
            for parameter in self.model.parameters():
                parameter.grad = paddle.zeros_like(parameter)
            self.optimizer.step()
        self.places = places(graph)
        return {name: reduce(getattr, place.path.split("."), self.model) for name, place in self.places.items()}

    def _in_mode(self, function: Any) -> Any:
        return paddle.jit.to_static(function, full_graph=True) if self.setup.mode == "static" else function

    def put(self, arrays: Given) -> None:
        super().put(arrays)
        self.model.clear_gradients()

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return self.places[name].canonical(_array(handle))

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        handle.set_value(np.ascontiguousarray(self.places[name].native(array), np.float32))

    def _slots(self) -> Iterator[Slot]:
        """Without momentum Paddle keeps none. Adam's moments are Paddle's by 1 - beta in float32, which it divides out
        again."""
        kept = self.optimizer.state_dict() if self.optimizer is not None else {}
        for slot in self.rule.slots if self.rule else ():
            beta = getattr(self.rule, BETAS.get(slot, ""), 0.0)
            for name in self.graph.parameters:
                key = "{}_{}_0".format(self.handles["parameter/" + name].name, slot)
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

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return _tensor(array)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        if not self.model.training:
            self.model.train()
        self.optimizer.clear_grad()
        loss, _ = self.objective(self.model, *batch)
        loss.backward()
        self.optimizer.step()
        return loss

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        if self.model.training:
            self.model.eval()
        with paddle.no_grad():
            return self.forward(*inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        self.model.train()
        self.model.clear_gradients()
        loss, outputs = self.objective(self.model, *batch)
        loss.backward()
        arrays = {}
        for name in self.graph.parameters:
            key = "parameter/" + name
            arrays["gradient/" + name] = self.places[key].canonical(_gradient(self.handles[key]))
        self.model.clear_gradients()
        return dict(arrays, loss=_array(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        """On a CPU Paddle has finished when it returns, in both modes."""

    def read(self, handle: Any) -> Arrays:
        if paddle.is_tensor(handle) and handle.ndim == 0:  # outputs have a batch axis, the loss has none
            return {"loss": _array(handle)}
        return {name: _array(tensor) for name, tensor in self._named(handle).items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("paddle has no probe {}".format(name))
        operation = self.operations.setdefault(name, self._in_mode(PROBES[name]))
        with paddle.no_grad():
            return {"result": _array(operation(*map(_tensor, arrays.values())))}

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
