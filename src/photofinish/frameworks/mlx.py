# /// script
# requires-python = ">=3.10"
# dependencies = ["mlx[cpu]==0.32.4", "numpy"]
# [tool.photofinish]
# title = "MLX"
# modes = ["eager", "compile"]
# download = "29 MB"
# disk = "115 MB"
# devices = ["cpu"]
# options = {}
# [tool.photofinish.lines]
# "mode=eager" = []
# "mode=compile" = ["train_step = mx.compile(train_step, inputs=state, outputs=state)"]
# ///
"""MLX: a graph is written out as the mlx.nn modules a person would write, and that source is what runs.

Mode eager is what MLX does unless told otherwise: it records a step and computes it when mx.eval asks for it, once a
step. Mode compile is mx.compile of the whole step, and of inference. On Linux MLX runs on the CPU; Apple's GPUs and
CUDA were never run and are left out. The writing is in _mlx/.
"""

from collections import Counter
from typing import Any, Callable, Dict, Iterator, Tuple

import mlx.core as mx
import numpy as np
from mlx import nn
from mlx import optimizers as native_optimizers

from photofinish import optimizers
from photofinish.frameworks import Arrays, Given, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.channels_last import feature_orders, to_canonical, to_native
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.frameworks._mlx.source import native_source
from photofinish.frameworks._mlx.weights import places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

SLOTS = {"velocity": "v", "moment1": "m", "moment2": "v"}  # what mlx.optimizers calls them
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: a @ b,
    "multiply": lambda a, b: a * b,
    "conv": lambda image, kernel: mx.conv2d(image, kernel, padding=1),
}


def _optimizer(rule: optimizers.Optimizer) -> Any:
    if isinstance(rule, optimizers.SGD):
        return native_optimizers.SGD(rule.learning_rate, momentum=rule.momentum)
    return native_optimizers.Adam(rule.learning_rate, betas=[rule.beta1, rule.beta2], eps=rule.epsilon,
                                  bias_correction=True)


Handle = Tuple[Any, str]  # a module's dictionary, or one of an optimizer's state, and the key of an array in it


def _handle(tree: Any, path: Tuple[str, ...]) -> Handle:
    for word in path[:-1]:
        tree = tree[word]
    return tree, path[-1]


class Contestant(Trainer):
    """MLX in mode "eager" or "compile", on the CPU."""

    title = "MLX"
    modes = ("eager", "compile")
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        mx.set_default_device(mx.cpu)
        mx.random.seed(setup.seed)

    def facts(self) -> Dict[str, Any]:
        return {"version": mx.__version__, "numpy": np.__version__, "device": str(mx.default_device()),
                "threads": "one: MLX splits no operation on the CPU, and the BLAS in its wheel (Netlib's) has none",
                "denormals": "flushed through the C library" if self.flushed else "as they come",
                "adam": "mlx.optimizers': in float32 its 1 - 0.999 is off by 1e-5, an update by half as much"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "mlx", graph)
        self.model, self.places, self.orders = source.Model(), places(graph), feature_orders(graph)
        self.optimizer = _optimizer(optimizer or optimizers.SGD())
        self.optimizer.init(self.model.trainable_parameters())
        self.recorded: Dict[str, int] = Counter()  # how often Python ran each of the functions that MLX records
        differentiated: Any = nn.value_and_grad(self.model, source.training_loss) if graph.losses else None

        def train_step(*batch: Any) -> Any:
            (loss, _), gradients = differentiated(self.model, *batch)
            self.optimizer.update(self.model, gradients)
            return loss

        def infer(*inputs: Any) -> Dict[str, Any]:
            return self._named(self.model(*inputs))

        def backward(*batch: Any) -> Any:
            (loss, outputs), gradients = differentiated(self.model, *batch)
            return loss, self._named(outputs), gradients

        self.calls = {function.__name__: self._in_mode(function) for function in (train_step, infer, backward)}
        return {name: _handle(self.model, place.path) for name, place in self.places.items()}

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.recorded[function.__name__] += 1
            return function(*arguments)

        state = [self.model.state, self.optimizer.state, mx.random.state]
        return mx.compile(counted, inputs=state, outputs=state) if self.setup.mode == "compile" else counted

    def put(self, arrays: Given) -> None:
        super().put(arrays)
        self._evaluate()

    def _read(self, name: str, handle: Handle) -> np.ndarray:
        tree, key = handle
        return np.array(self.places[name].layout.canonical(np.array(tree[key])), order="C")

    def _write(self, name: str, handle: Handle, array: np.ndarray) -> None:
        tree, key = handle
        tree[key] = mx.array(np.array(self.places[name].layout.native(array), np.float32, order="C"))

    def _slots(self) -> Iterator[Slot]:
        if self.rule is None or getattr(self.rule, "momentum", 1) == 0:  # without momentum MLX keeps no velocity
            return
        for name in self.graph.parameters:
            for slot in self.rule.slots:
                path = self.places["parameter/" + name].path + (SLOTS[slot],)
                yield slot, name, _handle(self.optimizer.state, path), 1.0

    def _count(self) -> None:
        self.optimizer.state["step"] = mx.array(self.steps, mx.uint64)

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return mx.array(np.array(to_native(array, spec), order="C"))

    def _mode(self, training: bool) -> None:
        if self.model.training != training:  # asked at each step, not set: setting it walks over every module
            self.model.train(training)

    def _evaluate(self, *handles: Any) -> None:
        mx.eval(*handles, self.model.state, self.optimizer.state)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        self._mode(training=True)
        loss = self.calls["train_step"](*batch)
        self._evaluate(loss)
        return loss

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        self._mode(training=False)
        outputs = self.calls["infer"](*inputs)
        mx.eval(outputs)
        return outputs

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        self._mode(training=True)
        loss, outputs, found = self.calls["backward"](*batch)
        self._evaluate(loss, outputs, found)
        arrays = {}
        for name in self.graph.parameters:
            key = "parameter/" + name
            arrays["gradient/" + name] = self._read(key, _handle(found, self.places[key].path))
        return dict(arrays, loss=np.array(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        """A step returns when mx.eval has computed it."""

    def read(self, handle: Any) -> Arrays:
        if not isinstance(handle, dict):
            return {"loss": np.array(handle)}
        found = {key.partition("/")[2]: np.array(value) for key, value in handle.items()}
        return {"output/" + name: to_canonical(values, self.graph.spec(name), self.orders.get(name))
                for name, values in found.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("MLX has no probe {}".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(0, 2, 3, 1)]
        operation = mx.compile(PROBES[name]) if self.setup.mode == "compile" else PROBES[name]
        result = np.array(operation(*(mx.array(np.ascontiguousarray(each)) for each in values)))
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else result}

    def evidence(self) -> Dict[str, Any]:
        """Python runs a compiled function once, another at each step."""
        return {"layout": "channels_last", "compiled": self.setup.mode == "compile",
                "steps": self.steps, "recorded_by_python": dict(self.recorded)}
