# /// script
# requires-python = ">=3.11"
# dependencies = ["pytensor==3.0.7", "numpy"]
# [tool.photofinish]
# title = "PyTensor"
# modes = ["numba", "c"]
# compiles = { numba = "minutes", c = "seconds" }
# download = "120 MB"
# disk = "440 MB"
# devices = ["cpu"]
# options = {}
# system = ["g++"]
# environment = { PYTENSOR_FLAGS = "base_compiledir={cache}/pytensor" }
# [tool.photofinish.lines]
# "mode=numba" = ["train_step = pytensor.function(..., mode='NUMBA')"]
# "mode=c" = ["train_step = pytensor.function(..., mode='CVM')"]
# ///
"""PyTensor, which Theano became: a graph is written out as the classes a person would write, whose call adds to a
symbolic graph, and that source is what runs. The writing is in _pytensor/.

Mode numba is PyTensor's own default: Numba compiles the whole step, a small convolutional net for minutes where nothing
is cached. Mode c is Theano's way: a C compiler makes a module of each operation, which a loop in C runs. From pip it
finds no BLAS to link, and takes products by NumPy, from NumPy's own OpenBLAS. PyTensor ships neither layers nor
optimizers, and no convolution of images with channels: all are written in its operations, the rule of the optimizer
too. What it ships, pytensor.tensor.signal.convolve2d, takes one image and one kernel at a time, in Python (SciPy).
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
Written = Tuple[Dict[str, Any], Dict[Any, Any]]  # outputs by name, and the updates of shared variables
Writing = Callable[[Sequence[Any]], Written]
PROBES: Dict[str, Callable[..., Any]] = {"matmul": lambda a, b: pt.dot(a, b), "multiply": lambda a, b: a * b}


class Contestant(Trainer):
    """PyTensor in mode "numba" or "c", on the CPU. A handle is a shared variable; functions are compiled when they are
    first asked for."""

    title = "PyTensor"
    modes = tuple(LINKERS)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.functions: Dict[Tuple[str, int], Tuple[Any, List[str]]] = {}
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it

    def facts(self) -> Dict[str, Any]:
        return {"version": pytensor.__version__, "numpy": np.__version__, "linker": self.setup.mode,
                "blas": {"numba": "SciPy's", "c": pytensor.config.blas__ldflags or "NumPy's"}[self.setup.mode],
                "threads": "those of OpenBLAS in products of matrices, one elsewhere",
                "denormals": "flushed through the C library" if self.flushed else "as they come"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        self.functions = {}
        self.source, self.turned = execute(native_source(graph), "pytensor", graph), turned(graph)
        self.source.Layer.random = pt.random.shared_rng(seed=self.setup.seed)
        self.model = self.source.Model()
        handles = {name: reduce(getattr, path.split("."), self.model) for name, path in paths(graph).items()}
        self.parameters = [handles["parameter/" + name] for name in graph.parameters]
        kept = optimizer.slots if getattr(optimizer, "momentum", optimizer) else ()  # no velocity without momentum
        self.slots = {"{}/{}".format(slot, name): pytensor.shared(np.zeros(shape, np.float32), shape=shape)
                      for slot in kept
                      for name, shape in zip(graph.parameters, (each.type.shape for each in self.parameters))}
        self.count = pytensor.shared(np.float32(0), "count")
        return handles

    def _called(self, write: Writing, batch: Tuple[np.ndarray, ...]) -> Arrays:
        """What a function gives, compiled once for each size of batch: sizes that are known make it a smaller one."""
        key = (write.__name__.strip("_"), len(batch[0]))
        if key not in self.functions:
            symbols = [pt.tensor(name, dtype=each.dtype.name, shape=each.shape)
                       for (name, _), each in zip(self.graph.inputs + self.graph.targets, batch)]
            outputs, updates = write(symbols)
            compiled = pytensor.function(symbols, list(outputs.values()), updates=updates,
                                         mode=LINKERS[self.setup.mode], on_unused_input="ignore")
            self.functions[key] = (compiled, list(outputs))
        compiled, names = self.functions[key]
        return dict(zip(names, compiled(*batch)))

    def _inference(self, symbols: Sequence[Any]) -> Written:
        return self._named(self.model(*symbols)), {}

    def _backward_pass(self, symbols: Sequence[Any]) -> Written:
        """Moves no state, but what random layers draw from."""
        loss, outputs, gradients, moved = self._differentiated(symbols)
        found = dict(self._named(outputs), loss=loss)
        found.update(("gradient/" + name, each) for name, each in zip(self.graph.parameters, gradients))
        return found, {each: values for each, values in moved.items() if each is self.source.Layer.random}

    def _step(self, symbols: Sequence[Any]) -> Written:
        loss, _, gradients, updates = self._differentiated(symbols)
        steps = self.count + np.float32(1)
        updates[self.count] = steps
        for name, parameter, gradient in zip(self.graph.parameters, self.parameters, gradients):
            updates.update(self._moves(self.rule, name, parameter, gradient, steps))
        return {"loss": loss}, updates

    def _differentiated(self, symbols: Sequence[Any]) -> Tuple[Any, Any, List[Any], Dict[Any, Any]]:
        """The loss, the outputs, the gradients, and what training moves besides the parameters."""
        layer = self.source.Layer
        layer.training, layer.updates = True, {}
        loss, outputs = self.source.training_loss(self.model, *symbols)
        layer.training = False
        gradients = pytensor.grad(loss, self.parameters, disconnected_inputs="ignore") if self.parameters else []
        return loss, outputs, gradients, layer.updates

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

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return self._canonical(name, np.array(handle.get_value(borrow=True)))

    def _canonical(self, name: str, array: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(array.transpose(np.argsort(self.turned[name]))) if name in self.turned else array

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        array = array.transpose(self.turned[name]) if name in self.turned else array
        handle.set_value(np.array(array, np.float32, order="C"), borrow=True)

    def _slots(self) -> Iterator[Slot]:
        for key, handle in self.slots.items():
            slot, _, name = key.partition("/")
            yield slot, name, handle, 1.0

    def _count(self) -> None:
        self.count.set_value(np.float32(self.steps))

    def _fed(self, array: np.ndarray, spec: Any) -> np.ndarray:
        return np.array(array, spec.dtype, order="C")

    def _train(self, batch: Tuple[np.ndarray, ...]) -> Any:
        return self._called(self._step, batch)

    def _infer(self, inputs: Tuple[np.ndarray, ...]) -> Any:
        return self._called(self._inference, inputs)

    def _backward(self, batch: Tuple[np.ndarray, ...]) -> Arrays:
        found = {name: np.array(each) for name, each in self._called(self._backward_pass, batch).items()}
        for name in self.graph.parameters:
            found["gradient/" + name] = self._canonical("parameter/" + name, found["gradient/" + name])
        return found

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: a function has finished when it returns."""

    def read(self, handle: Arrays) -> Arrays:
        return {name: np.array(each) for name, each in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("PyTensor ships no {0}: what is written instead is as exact as its matmul".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        key = ("probe {} {}".format(name, [each.shape for each in values]), 0)
        if key not in self.functions:
            symbols = [pt.tensor(dtype="float32", shape=each.shape) for each in values]
            compiled = pytensor.function(symbols, [PROBES[name](*symbols)], mode=LINKERS[self.setup.mode])
            self.functions[key] = (compiled, ["result"])
        return {"result": np.array(self.functions[key][0](*values)[0])}

    def evidence(self) -> Dict[str, Any]:
        """The operations of the compiled functions, by their count."""
        operations = {name: dict(Counter(type(node.op).__name__ for node in function.maker.fgraph.toposort()))
                      for (name, _), (function, _) in self.functions.items()}
        return {"layout": "channels_first", "compiled": True, "operations": operations}
