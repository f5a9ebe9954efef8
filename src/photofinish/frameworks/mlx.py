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
# ///
"""MLX: a graph is written out as the mlx.nn modules a person would write, and that source is what runs.

Mode eager is what MLX does unless told otherwise: it records a step and computes it when mx.eval asks for it, once a
step. Mode compile is mx.compile of the whole step, and of inference. On Linux MLX runs on the CPU; Apple's GPUs and
CUDA were never run and are left out. The writing is in _mlx/.
"""

import linecache
import sys
import types
from collections import Counter
from typing import Any, Callable, Dict, List, Optional, Tuple

import mlx.core as mx
import numpy as np
from mlx import nn
from mlx import optimizers as native_optimizers

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.channels_last import feature_orders, to_canonical, to_native
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._mlx.source import native_source
from photofinish.frameworks._mlx.weights import Place, places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

SLOTS = {"velocity": "v", "moment1": "m", "moment2": "v"}  # what mlx.optimizers calls them
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: a @ b,
    "multiply": lambda a, b: a * b,
    "conv": lambda image, kernel: mx.conv2d(image, kernel, padding=1),
}


def _load(graph: Graph) -> Any:
    """The source of a graph as a module that tracebacks can read."""
    source, name = native_source(graph), "<photofinish_mlx_{}>".format(graph.digest[:12])
    module: Any = types.ModuleType(name[1:-1])
    sys.modules[module.__name__] = module
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), vars(module))
    return module


def _optimizer(rule: optimizers.Optimizer) -> Any:
    if isinstance(rule, optimizers.SGD):
        return native_optimizers.SGD(rule.learning_rate, momentum=rule.momentum)
    return native_optimizers.Adam(rule.learning_rate, betas=[rule.beta1, rule.beta2], eps=rule.epsilon,
                                  bias_correction=True)


def _holder(tree: Any, path: Tuple[str, ...]) -> Any:
    """The dictionary that has the last word of a path: modules, and an optimizer's state, are dictionaries."""
    for word in path[:-1]:
        tree = tree[word]
    return tree


class Contestant(frameworks.Contestant):
    """MLX in mode "eager" or "compile", on the CPU."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode not in ("eager", "compile"):
            raise Unsupported("MLX has no mode {}: eager, compile".format(setup.mode))
        if setup.options:
            raise Unsupported("MLX has no option {}".format(", ".join(setup.options)))
        if setup.precision != "float32":
            raise Unsupported("MLX trains in float32 here, not {}".format(setup.precision))
        if setup.device != "cpu":
            raise Unsupported("MLX runs on cpu here, not {}".format(setup.device))
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        mx.set_default_device(mx.cpu)
        mx.random.seed(setup.seed)

    def facts(self) -> Dict[str, Any]:
        return {"version": mx.__version__, "numpy": np.__version__, "device": str(mx.default_device()),
                "threads": "one: MLX splits no operation on the CPU, and the BLAS in its wheel (Netlib's) has none",
                "denormals": "flushed through the C library" if self.flushed else "as they come",
                "adam": "mlx.optimizers': in float32 its 1 - 0.999 is off by 1e-5, an update by half as much"}

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        source = _load(graph)
        self.graph, self.rule = graph, optimizer
        self.model, self.places, self.orders = source.Model(), places(graph), feature_orders(graph)
        self.optimizer = _optimizer(optimizer or optimizers.SGD())
        self.optimizer.init(self.model.trainable_parameters())
        self.variances = PopulationVariances(graph, batch, trains=optimizer is not None)
        self.steps, self.settled = 0, True
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

    def _named(self, outputs: Any) -> Dict[str, Any]:
        """The outputs that there are: some exist in training only."""
        values = outputs if isinstance(outputs, tuple) else (outputs,)
        return {name: value for name, value in zip(self.graph.outputs, values) if value is not None}

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            self.recorded[function.__name__] += 1
            return function(*arguments)

        state = [self.model.state, self.optimizer.state, mx.random.state]
        return mx.compile(counted, inputs=state, outputs=state) if self.setup.mode == "compile" else counted

    def put(self, arrays: Arrays) -> None:
        for name, place in self.places.items():
            self._store(self.model, place, place.path, arrays[name])
        self.steps = int(arrays.get("step", 0))
        self.optimizer.state["step"] = mx.array(self.steps, mx.uint64)
        for key, name, slot in self._slots():
            place = self.places["parameter/" + name]
            given = arrays.get(key, np.zeros(place.layout.shape, np.float32))
            self._store(self.optimizer.state, place, place.path + (slot,), given)
        self._evaluate()
        self._begin(arrays)

    def _store(self, tree: Any, place: Place, path: Tuple[str, ...], array: np.ndarray) -> None:
        values = np.array(place.layout.native(array), np.float32, order="C")
        _holder(tree, path)[path[-1]] = mx.array(values)

    def _slots(self) -> List[Tuple[str, str, str]]:
        """(canonical name, parameter, MLX's slot); without momentum MLX keeps no velocity."""
        if self.rule is None or getattr(self.rule, "momentum", 1) == 0:
            return []
        return [("{}/{}".format(slot, name), name, SLOTS[slot])
                for name in self.graph.parameters for slot in self.rule.slots]

    def _begin(self, arrays: Arrays) -> None:
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def get(self) -> Arrays:
        arrays = {name: self._canonical(self.model, place, place.path) for name, place in self.places.items()}
        for key, name, slot in self._slots():
            place = self.places["parameter/" + name]
            arrays[key] = self._canonical(self.optimizer.state, place, place.path + (slot,))
        arrays.update(self.variances.canonical(arrays, self.steps))
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _canonical(self, tree: Any, place: Place, path: Tuple[str, ...]) -> np.ndarray:
        return np.array(place.layout.canonical(np.array(_holder(tree, path)[path[-1]])), order="C")

    def _settle(self) -> None:
        """Before inference that follows training: the model itself gets the variances of the graph's convention."""
        found = {name: self._canonical(self.model, self.places[name], self.places[name].path)
                 for name in self.variances.terms}
        found = self.variances.canonical(found, self.steps)
        for name, values in found.items():
            self._store(self.model, self.places[name], self.places[name].path, values)
        self._begin(found)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Arrays in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(mx.array(np.array(to_native(arrays[name], spec), order="C"))
                     for name, spec in self.graph.inputs + self.graph.targets if name in arrays)

    def _mode(self, training: bool) -> None:
        if self.model.training != training:  # asked at each step, not set: setting it walks over every module
            self.model.train(training)

    def _evaluate(self, *handles: Any) -> None:
        mx.eval(*handles, self.model.state, self.optimizer.state)

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if self.rule is None or not self.graph.losses:
            raise Unsupported("no training without an optimizer and a loss")
        self._mode(training=True)
        loss = self.calls["train_step"](*batch)
        self._evaluate(loss)
        self.steps += 1
        self.settled = False
        return loss

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        self._mode(training=False)
        outputs = self.calls["infer"](*batch[:len(self.graph.inputs)])
        mx.eval(outputs)
        return outputs

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if not self.graph.losses:
            raise Unsupported("no gradients without a loss")
        self._mode(training=True)
        paths = [place.path for name, place in self.places.items() if name.startswith("state/")]
        before = [_holder(self.model, path)[path[-1]] for path in paths]
        loss, outputs, found = self.calls["backward"](*batch)
        self._evaluate(loss, outputs, found)
        for path, value in zip(paths, before):  # a pass in training mode moves statistics, and is not a step
            _holder(self.model, path)[path[-1]] = value
        named = ((name, self.places["parameter/" + name]) for name in self.graph.parameters)
        return dict({"gradient/" + name: self._canonical(found, place, place.path) for name, place in named},
                    loss=np.array(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        """A step returns when mx.eval has computed it."""

    def read(self, handle: Any) -> Arrays:
        if not isinstance(handle, dict):
            return {"loss": np.array(handle)}
        return {"output/" + name: to_canonical(np.array(value), self.graph.spec(name), self.orders.get(name))
                for name, value in handle.items()}

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
