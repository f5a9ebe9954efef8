# /// script
# requires-python = ">=3.8,<3.12"
# dependencies = ["chainer==7.8.1", "numpy==1.23.5"]
# [tool.photofinish]
# title = "Chainer"
# modes = ["eager"]
# build-dependencies = ["setuptools<58", "wheel"]
# no-build-isolation = true
# download = "20 MB"
# disk = "100 MB"
# devices = ["cpu"]
# options = {}
# ///
"""Chainer: a graph is written out as the Chain classes a person would write, and that source is what runs. The writing
is in _chainer/. On a CPU all of it is NumPy: iDeep, which it could use, has no build for these Pythons.
"""

import os
from typing import Any, Callable, Dict, Iterator, List, Tuple

import chainer
import numpy as np

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._chainer.source import native_source
from photofinish.frameworks._chainer.weights import places
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

SLOTS = {"velocity": "v", "moment1": "m", "moment2": "v"}
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: chainer.functions.matmul(a, b),
    "conv": lambda image, weight: chainer.functions.convolution_2d(image, weight, pad=1),
    "multiply": lambda a, b: chainer.Variable(a) * b,
}


def _optimizer(optimizer: optimizers.Optimizer) -> Any:
    """Chainer's own."""
    if isinstance(optimizer, optimizers.Adam):
        return chainer.optimizers.Adam(alpha=optimizer.learning_rate, beta1=optimizer.beta1, beta2=optimizer.beta2,
                                       eps=optimizer.epsilon)
    if optimizer.momentum == 0:
        return chainer.optimizers.SGD(lr=optimizer.learning_rate)
    return chainer.optimizers.MomentumSGD(lr=optimizer.learning_rate, momentum=optimizer.momentum)


class Contestant(Trainer):
    """Chainer, which defines a graph by running it; float32. A handle is the arrays that together are one of ours."""

    title = "Chainer"
    modes = ("eager",)
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        np.random.seed(setup.seed)  # which its dropout draws from

    def facts(self) -> Dict[str, Any]:
        return {"version": chainer.__version__, "numpy": np.__version__,
                "ideep": chainer.backends.intel64.is_ideep_available(),
                "threads": os.environ.get("OPENBLAS_NUM_THREADS", "as OpenBLAS chooses"),
                "denormals": "NumPy's: they cannot be flushed from Python",
                "adam": "Chainer's, its epsilon corrected at each step: it adds epsilon before the bias correction"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "chainer", graph)
        self.model = source.Model()
        self.objective: Any = getattr(source, "training_loss", None)
        self.optimizer: Any = _optimizer(optimizer).setup(self.model) if optimizer is not None else None
        self.places = places(graph)
        return {name: [_find(self.model, path) for path in place.paths] for name, place in self.places.items()}

    def _read(self, name: str, handle: List[Any]) -> np.ndarray:
        return self.places[name].canonical([_values(each) for each in handle])

    def _write(self, name: str, handle: List[Any], array: np.ndarray) -> None:
        for each, part in zip(handle, self.places[name].native(array)):
            _values(each)[...] = part

    def _slots(self) -> Iterator[Slot]:
        if self.optimizer is None or getattr(self.rule, "momentum", 1) == 0:  # without momentum Chainer keeps nothing
            return
        sgd = isinstance(self.rule, optimizers.SGD)  # keeps -learning rate * velocity
        for name in self.graph.parameters:
            parameters = self.handles["parameter/" + name]
            for each in parameters:
                each.update_rule._init_states(each)
            for slot in self.rule.slots:
                kept = [each.update_rule.state[SLOTS[slot]] for each in parameters]
                yield slot, name, kept, -self.rule.learning_rate if sgd else 1.0

    def _count(self) -> None:
        if self.optimizer is not None:
            self.optimizer.t = self.steps
            for parameter in self.model.params():
                parameter.update_rule.t = self.steps

    def _fed(self, array: np.ndarray, spec: Any) -> np.ndarray:
        return np.array(array, np.int32 if array.dtype.kind == "i" else None)

    def _train(self, batch: Tuple[np.ndarray, ...]) -> Any:
        self.model.cleargrads()
        loss, _ = self.objective(self.model, *batch)
        loss.backward()
        if isinstance(self.rule, optimizers.Adam):
            self.optimizer.eps = self.rule.epsilon * (1 - self.rule.beta2 ** self.steps) ** 0.5
        self.optimizer.update()
        return {"loss": loss}

    def _infer(self, inputs: Tuple[np.ndarray, ...]) -> Any:
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return self._named(self.model(*inputs))

    def _backward(self, batch: Tuple[np.ndarray, ...]) -> Arrays:
        self.model.cleargrads()
        loss, outputs = self.objective(self.model, *batch)
        loss.backward()
        found = {}
        for name in self.graph.parameters:
            key = "parameter/" + name
            found["gradient/" + name] = self.places[key].canonical([_gradient(each) for each in self.handles[key]])
        return dict(found, **self.read(dict(self._named(outputs), loss=loss)))

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: NumPy has finished when it returns."""

    def read(self, handle: Dict[str, Any]) -> Arrays:
        return {name: np.array(each.array) for name, each in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("Chainer has no probe {}".format(name))
        with chainer.no_backprop_mode():
            return {"result": PROBES[name](*arrays.values()).array}

    def evidence(self) -> Dict[str, Any]:
        """The functions that one inference calls, by their count."""
        hook = chainer.function_hooks.TimerHook()
        with hook:
            self.infer(tuple(np.zeros((1,) + spec.shape, spec.dtype) for _, spec in self.graph.inputs))
        calls: Dict[str, int] = {}
        for function, _ in hook.call_history:
            calls[function] = calls.get(function, 0) + 1
        return {"layout": "channels_first", "compiled": False, "functions": calls}


def _find(link: Any, path: str) -> Any:
    """A parameter, or an array of a link; a number is a place in a list of links."""
    for name in path.split("."):
        link = link[int(name)] if name.isdigit() else getattr(link, name)
    return link


def _values(kept: Any) -> np.ndarray:
    return np.asarray(kept.array if isinstance(kept, chainer.Variable) else kept)


def _gradient(parameter: Any) -> np.ndarray:
    """Zeros where none arrived."""
    return np.asarray(np.zeros_like(parameter.array) if parameter.grad is None else parameter.grad)
