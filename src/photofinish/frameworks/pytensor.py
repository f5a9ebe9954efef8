# /// script
# requires-python = ">=3.11"
# dependencies = ["pytensor==3.0.7", "numpy"]
# [tool.photofinish]
# title = "PyTensor"
# modes = ["numba", "c"]
# compiles = { numba = "minutes", c = "minutes" }
# devices = ["cpu"]
# options = {}
# system = ["g++"]
# environment = { PYTENSOR_FLAGS = "floatX=float32,base_compiledir={cache}/pytensor" }
# ///
"""PyTensor, which Theano became: a graph is written out as the classes a person would write, whose call adds to a
symbolic graph, and that source is what runs. The writing is in _pytensor/.

Mode numba is PyTensor's own default: Numba compiles the whole step. Mode c is Theano's way: a C compiler makes a module
of each operation, which a loop in C runs. It ships neither layers nor optimizers, and no
convolution of images with channels: all are written in its operations, the rule of the optimizer too.
"""

from collections import Counter
from functools import reduce
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import numpy as np
import pytensor
import pytensor.tensor as pt

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.frameworks._pytensor.native import paths, turned
from photofinish.frameworks._pytensor.source import native_source
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

LINKERS = {"numba": "NUMBA", "c": "CVM"}  # mode -> PyTensor's name
PROBES: Dict[str, Callable[..., Any]] = {"matmul": lambda a, b: pt.dot(a, b), "multiply": lambda a, b: a * b}


class Contestant(Trainer):
    """PyTensor in mode "numba" or "c", on the CPU. A handle is a shared variable; functions are compiled when they are first
    asked for."""

    title = "PyTensor"
    modes = tuple(LINKERS)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it

    def facts(self) -> Dict[str, Any]:
        return {"version": pytensor.__version__, "numpy": np.__version__, "linker": self.setup.mode,
                "threads": "those of OpenBLAS in products of matrices, one elsewhere",
                "denormals": "flushed through the C library" if self.flushed else "as they come"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "pytensor", graph)
        source.Layer.random = pt.random.shared_rng(seed=self.setup.seed)
        model = source.Model()
        handles = {name: reduce(getattr, path.split("."), model) for name, path in paths(graph).items()}
        self.functions: Dict[str, Any] = {}
        self.turned = turned(graph)
        self.symbols = [pt.tensor(name, dtype=str(np.dtype(spec.dtype)), shape=(self.batch,) + tuple(spec.shape))
                        for name, spec in graph.inputs + graph.targets]
        inputs = self.symbols[:len(graph.inputs)]
        self.inference = self._named(model(*inputs))
        self.slots: Dict[str, Any] = {}
        if graph.losses:
            source.Layer.training, source.Layer.updates = True, {}
            self.loss, outputs = source.training_loss(model, *self.symbols)
            self.trained, self.moved = self._named(outputs), dict(source.Layer.updates)
            self.drawn = {each: self.moved[each] for each in (source.Layer.random,) if each in self.moved}
            parameters = [handles["parameter/" + name] for name in graph.parameters]
            self.found = pytensor.grad(self.loss, parameters, disconnected_inputs="ignore") if parameters else []
            if optimizer is not None:
                self._learn(optimizer, parameters)
        return handles

    def _learn(self, rule: Any, parameters: Sequence[Any]) -> None:
        """The rule, in updates."""
        self.count = pytensor.shared(np.float32(0), "count")
        kept = rule.slots if getattr(rule, "momentum", 1) else ()  # without momentum nobody keeps a velocity
        self.slots = {"{}/{}".format(slot, name): pytensor.shared(np.zeros(each.type.shape, np.float32), shape=each.type.shape)
                      for slot in kept for name, each in zip(self.graph.parameters, parameters)}
        steps = self.count + np.float32(1)
        self.updates = dict(self.moved)
        self.updates[self.count] = steps
        for name, parameter, gradient in zip(self.graph.parameters, parameters, self.found):
            self.updates.update(self._moves(rule, name, parameter, gradient, steps))

    def _moves(self, rule: Any, name: str, parameter: Any, gradient: Any, steps: Any) -> Dict[Any, Any]:
        """The next values of a parameter and its slots."""
        if isinstance(rule, optimizers.Adam):
            first, second = (self.slots["{}/{}".format(slot, name)] for slot in rule.slots)
            mean = rule.beta1 * first + (1 - rule.beta1) * gradient
            square = rule.beta2 * second + (1 - rule.beta2) * gradient * gradient
            shares = [1 - pt.exp(steps * np.float32(np.log(beta))) for beta in (rule.beta1, rule.beta2)]
            change = mean / shares[0] / (pt.sqrt(square / shares[1]) + rule.epsilon)
            return {first: mean, second: square, parameter: parameter - rule.learning_rate * change}
        if not rule.momentum:
            return {parameter: parameter - rule.learning_rate * gradient}
        velocity = self.slots["velocity/" + name]
        moved = rule.momentum * velocity + gradient
        return {velocity: moved, parameter: parameter - rule.learning_rate * moved}

    def _function(self, name: str, inputs: List[Any], outputs: Any, updates: Any = None) -> Any:
        """Compiled once. What an exercise does not read of a batch is no mistake."""
        if name not in self.functions:
            self.functions[name] = pytensor.function(inputs, outputs, updates=updates, on_unused_input="ignore",
                                                     mode=LINKERS[self.setup.mode])
        return self.functions[name]

    def _read(self, name: str, handle: Any) -> np.ndarray:
        array = handle.get_value(borrow=True)
        return np.array(array.transpose(np.argsort(self.turned[name])) if name in self.turned else array, order="C")

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        array = array.transpose(self.turned[name]) if name in self.turned else array
        handle.set_value(np.array(array, np.float32, order="C"), borrow=True)

    def _slots(self) -> Iterator[Slot]:
        for key, handle in self.slots.items():
            slot, _, name = key.partition("/")
            yield slot, name, handle, 1.0

    def _count(self) -> None:
        if self.rule is not None and self.graph.losses:
            self.count.set_value(np.float32(self.steps))

    def _fed(self, array: np.ndarray, spec: Any) -> np.ndarray:
        return np.array(array, spec.dtype, order="C")

    def _train(self, batch: Tuple[np.ndarray, ...]) -> Any:
        return {"loss": self._function("train", self.symbols, self.loss, self.updates)(*batch)}

    def _infer(self, inputs: Tuple[np.ndarray, ...]) -> Any:
        symbols = self.symbols[:len(inputs)]
        values = self._function("infer", symbols, list(self.inference.values()))(*inputs)
        return dict(zip(self.inference, values))

    def _backward(self, batch: Tuple[np.ndarray, ...]) -> Arrays:
        compiled = self._function("backward", self.symbols, [self.loss, *self.trained.values(), *self.found],
                                  self.drawn)
        loss, *values = compiled(*batch)
        outputs, gradients = values[:len(self.trained)], values[len(self.trained):]
        found = dict(zip(self.trained, map(np.array, outputs)), loss=np.array(loss))
        for name, gradient in zip(self.graph.parameters, gradients):
            axes = self.turned.get("parameter/" + name)
            found["gradient/" + name] = np.array(gradient if axes is None else gradient.transpose(np.argsort(axes)))
        return found

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: a function has finished when it returns."""

    def read(self, handle: Arrays) -> Arrays:
        return {name: np.array(each) for name, each in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("PyTensor has no probe {}".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        symbols = [pt.tensor(dtype="float32", shape=each.shape) for each in values]
        compiled = pytensor.function(symbols, PROBES[name](*symbols), mode=LINKERS[self.setup.mode])
        return {"result": np.array(compiled(*values))}

    def evidence(self) -> Dict[str, Any]:
        """The operations of the compiled functions, by their count."""
        operations = {name: dict(Counter(type(node.op).__name__ for node in function.maker.fgraph.toposort()))
                      for name, function in self.functions.items()}
        return {"layout": "channels_first", "compiled": True, "operations": operations}
