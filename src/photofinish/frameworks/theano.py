# /// script
# requires-python = ">=3.6,<3.8"
# dependencies = ["theano==1.0.5", "numpy<1.17", "setuptools<60"]
# [tool.photofinish]
# title = "Theano"
# modes = ["cvm"]
# compiles = { cvm = "seconds" }
# system = ["g++"]
# download = "60 MB"
# disk = "220 MB"
# devices = ["cpu"]
# options = {}
# environment = { THEANO_FLAGS = "floatX=float32,base_compiledir={cache}/theano", THEANORC = "/dev/null" }
# ///
"""Theano: a graph is written out as the classes a person would write, whose call adds to a symbolic graph, and that
source is what runs. The writing is in _theano/.

Mode cvm is Theano's own default: the optimizer fast_run, and a virtual machine in C which calls what g++ compiled of
each operation. Products are those of the OpenBLAS that came with NumPy. It ships no optimizers: the rule is written in
updates. Its loop over time asks for pkg_resources, which later setuptools have no more.
"""

import os
import sys
from collections import Counter
from functools import reduce
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import numpy as np

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.frameworks._theano import blas
from photofinish.frameworks._theano.native import paths
from photofinish.frameworks._theano.source import native_source
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

os.environ["THEANO_FLAGS"] = os.environ.get("THEANO_FLAGS", "floatX=float32") + blas.flags()  # read once

import theano
import theano.tensor as T
from theano.sandbox.rng_mrg import MRG_RandomStreams

sys.setrecursionlimit(max(sys.getrecursionlimit(), 100000))  # by which Theano walks through a graph, however deep

PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: T.dot(a, b),
    "conv": lambda image, weight: T.nnet.conv2d(image, weight, border_mode=1, filter_flip=False),
    "multiply": lambda a, b: a * b,
}


def _symbol(dtype: Any, rank: int, name: str = "") -> Any:
    return T.TensorType(str(np.dtype(dtype)), (False,) * rank)(name or None)


class Contestant(Trainer):
    """Theano in float32 on the CPU. A handle is a shared variable; functions are compiled when they are first asked
    for."""

    title = "Theano"
    modes = ("cvm",)
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it

    def facts(self) -> Dict[str, Any]:
        return {"version": theano.__version__, "numpy": np.__version__, "optimizer": theano.config.optimizer,
                "linker": theano.config.linker, "compiler": theano.config.cxx,
                "blas": theano.config.blas.ldflags.rpartition("-l")[2] or "none: NumPy's, array by array",
                "threads": "{} in products of matrices, one elsewhere".format(
                    os.environ.get("OPENBLAS_NUM_THREADS", "as OpenBLAS chooses")),
                "denormals": "flushed through the C library" if self.flushed else "as they come"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "theano", graph)
        source.Layer.random = MRG_RandomStreams(self.setup.seed + 1)  # which takes no zero
        model = source.Model()
        handles = {name: reduce(getattr, path.split("."), model) for name, path in paths(graph).items()}
        self.functions: Dict[str, Any] = {}
        self.symbols = [_symbol(spec.dtype, 1 + len(spec.shape), name) for name, spec in graph.inputs + graph.targets]
        self.inference = self._named(model(*self.symbols[:len(graph.inputs)]))
        self.slots: Dict[str, Any] = {}
        if graph.losses:
            source.Layer.training, source.Layer.updates = True, {}
            self.loss, outputs = source.training_loss(model, *self.symbols)
            self.trained, self.moved = self._named(outputs), dict(source.Layer.updates)
            parameters = [handles["parameter/" + name] for name in graph.parameters]
            self.found = theano.grad(self.loss, parameters, disconnected_inputs="ignore") if parameters else []
            if optimizer is not None:
                self._learn(optimizer, parameters)
        return handles

    def _learn(self, rule: Any, parameters: Sequence[Any]) -> None:
        """The rule, in updates."""
        self.count = theano.shared(np.float32(0), "count")
        kept = rule.slots if getattr(rule, "momentum", 1) else ()  # without momentum nobody keeps a velocity
        self.slots = {"{}/{}".format(slot, name): theano.shared(np.zeros(spec.shape, np.float32))
                      for slot in kept for name, spec in self.graph.parameters.items()}
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
            shares = [-T.expm1(steps * np.float32(np.log(beta))) for beta in (rule.beta1, rule.beta2)]
            change = mean / shares[0] / (T.sqrt(square / shares[1]) + rule.epsilon)
            return {first: mean, second: square, parameter: parameter - rule.learning_rate * change}
        if not rule.momentum:
            return {parameter: parameter - rule.learning_rate * gradient}
        velocity = self.slots["velocity/" + name]
        moved = rule.momentum * velocity + gradient
        return {velocity: moved, parameter: parameter - rule.learning_rate * moved}

    def _function(self, name: str, inputs: List[Any], outputs: Any, updates: Sequence[Tuple[Any, Any]] = ()) -> Any:
        """Compiled once. What an exercise does not read of a batch is no mistake."""
        if name not in self.functions:
            self.functions[name] = theano.function(inputs, outputs, updates=list(updates), on_unused_input="ignore")
        return self.functions[name]

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return np.array(handle.get_value(borrow=True))

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
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
        return {"loss": self._function("train", self.symbols, self.loss, list(self.updates.items()))(*batch)}

    def _infer(self, inputs: Tuple[np.ndarray, ...]) -> Any:
        values = self._function("infer", self.symbols[:len(inputs)], list(self.inference.values()))(*inputs)
        return dict(zip(self.inference, values))

    def _backward(self, batch: Tuple[np.ndarray, ...]) -> Arrays:
        compiled = self._function("backward", self.symbols, [self.loss, *self.trained.values(), *self.found])
        loss, *values = compiled(*batch)
        names = [*self.trained, *("gradient/" + name for name in self.graph.parameters)]
        return dict(zip(names, map(np.array, values)), loss=np.array(loss))

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: a function has finished when it returns."""

    def read(self, handle: Arrays) -> Arrays:
        return {name: np.array(each) for name, each in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("Theano has no probe {}".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        symbols = [_symbol(each.dtype, each.ndim) for each in values]
        return {"result": np.array(theano.function(symbols, PROBES[name](*symbols))(*values))}

    def evidence(self) -> Dict[str, Any]:
        """The operations of the compiled functions, by their count."""
        operations = {name: dict(Counter(type(node.op).__name__ for node in function.maker.fgraph.toposort()))
                      for name, function in self.functions.items()}
        return {"layout": "channels_first", "compiled": True, "operations": operations}
