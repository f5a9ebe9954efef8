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

import linecache
import os
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

import chainer
import numpy as np

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._chainer.source import native_source
from photofinish.frameworks._chainer.weights import places
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

SLOTS = {"velocity": "v", "moment1": "m", "moment2": "v"}
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: chainer.functions.matmul(a, b),
    "conv": lambda image, weight: chainer.functions.convolution_2d(image, weight, pad=1),
    "multiply": lambda a, b: chainer.Variable(a) * b,
}


def _load(graph: Graph) -> Any:
    """The source of a graph as a module that tracebacks can read."""
    source, filename = native_source(graph), "<photofinish_chainer_{}>".format(graph.digest[:12])
    module: Any = types.ModuleType(filename[1:-1])
    sys.modules[module.__name__] = module
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), vars(module))
    return module


def _optimizer(optimizer: optimizers.Optimizer) -> Any:
    """Chainer's own."""
    if isinstance(optimizer, optimizers.Adam):
        return chainer.optimizers.Adam(alpha=optimizer.learning_rate, beta1=optimizer.beta1, beta2=optimizer.beta2,
                                       eps=optimizer.epsilon)
    if optimizer.momentum == 0:
        return chainer.optimizers.SGD(lr=optimizer.learning_rate)
    return chainer.optimizers.MomentumSGD(lr=optimizer.learning_rate, momentum=optimizer.momentum)


class Contestant(frameworks.Contestant):
    """Chainer, which defines a graph by running it; float32."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode != "eager":
            raise Unsupported("Chainer has no mode {}: eager".format(setup.mode))
        if setup.options:
            raise Unsupported("Chainer has no option {}".format(", ".join(setup.options)))
        if setup.precision != "float32":
            raise Unsupported("Chainer races in float32 here, not {}".format(setup.precision))
        if setup.device != "cpu":
            raise Unsupported("Chainer runs on the cpu here, not {}".format(setup.device))
        np.random.seed(setup.seed)  # which its dropout draws from

    def facts(self) -> Dict[str, Any]:
        return {"version": chainer.__version__, "numpy": np.__version__,
                "ideep": chainer.backends.intel64.is_ideep_available(),
                "threads": os.environ.get("OPENBLAS_NUM_THREADS", "as OpenBLAS chooses"),
                "denormals": "NumPy's: they cannot be flushed from Python",
                "adam": "Chainer's, its epsilon corrected at each step: it adds epsilon before the bias correction"}

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        self.graph = graph
        self.rule: Any = optimizer
        source = _load(graph)
        self.model = source.Model()
        self.objective = getattr(source, "training_loss", None)
        self.optimizer: Any = _optimizer(optimizer).setup(self.model) if optimizer is not None else None
        self.places = places(graph)
        self.arrays = {name: [_find(self.model, path) for path in place.paths] for name, place in self.places.items()}
        self.variances = PopulationVariances(graph, batch, trains=optimizer is not None)
        self.steps, self.settled = 0, True

    def put(self, arrays: Arrays) -> None:
        self.steps = int(arrays.get("step", 0))
        self._store({name: arrays[name] for name in self.arrays})
        for slot, name, kept, factor in self._slots():
            given = arrays.get("{}/{}".format(slot, name))
            parts: List[Any] = [0.0] * len(kept)
            if given is not None:
                parts = self.places["parameter/" + name].native(given)
            for each, part in zip(kept, parts):
                each[...] = factor * part
        if self.optimizer is not None:
            self.optimizer.t = self.steps
            for parameter in self.model.params():
                parameter.update_rule.t = self.steps
        self._begin(arrays)

    def _store(self, arrays: Arrays) -> None:
        for name, array in arrays.items():
            for each, part in zip(self.arrays[name], self.places[name].native(array)):
                _values(each)[...] = part

    def _begin(self, arrays: Arrays) -> None:
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def _slots(self) -> List[Tuple[str, str, List[np.ndarray], np.float32]]:
        """(slot, parameter name, Chainer's arrays, Chainer's values over ours), made where they are not there yet."""
        found: List[Tuple[str, str, List[np.ndarray], np.float32]] = []
        if self.optimizer is None or getattr(self.rule, "momentum", 1) == 0:  # without momentum Chainer keeps nothing
            return found
        sgd = isinstance(self.rule, optimizers.SGD)  # keeps -learning rate * velocity
        factor = np.float32(-self.rule.learning_rate if sgd else 1)
        for name, parameters in self.arrays.items():
            group, _, own = name.partition("/")
            if group == "parameter":
                for each in parameters:
                    each.update_rule._init_states(each)
                for slot in self.rule.slots:
                    kept = [each.update_rule.state[SLOTS[slot]] for each in parameters]
                    found.append((slot, own, kept, factor))
        return found

    def get(self) -> Arrays:
        arrays = {name: self._canonical(name) for name in self.arrays}
        arrays.update(self.variances.canonical(arrays, self.steps))
        arrays.update({"{}/{}".format(slot, name): self.places["parameter/" + name].canonical(kept) / factor
                       for slot, name, kept, factor in self._slots()})
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _canonical(self, name: str) -> np.ndarray:
        return self.places[name].canonical([_values(each) for each in self.arrays[name]])

    def _settle(self) -> None:
        """Before inference that follows training: the model itself gets the variances of the graph's convention."""
        found = self.variances.canonical({name: self._canonical(name) for name in self.variances.terms}, self.steps)
        self._store(found)
        self._begin(found)

    def feed(self, arrays: Arrays) -> Tuple[np.ndarray, ...]:
        """Arrays in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(np.array(arrays[name], np.int32 if arrays[name].dtype.kind == "i" else None)
                     for name, _ in self.graph.inputs + self.graph.targets if name in arrays)

    def train_step(self, batch: Tuple[np.ndarray, ...]) -> Any:
        if self.optimizer is None or self.objective is None:
            raise Unsupported("no training without an optimizer and a loss")
        self.model.cleargrads()
        loss, _ = self.objective(self.model, *batch)
        loss.backward()
        self.steps += 1
        if isinstance(self.rule, optimizers.Adam):
            self.optimizer.eps = self.rule.epsilon * (1 - self.rule.beta2 ** self.steps) ** 0.5
        self.optimizer.update()
        self.settled = False
        return {"loss": loss}

    def infer(self, batch: Tuple[np.ndarray, ...]) -> Any:
        if not self.settled:
            self._settle()
        with chainer.using_config("train", False), chainer.no_backprop_mode():
            return self._outputs(self.model(*batch[:len(self.graph.inputs)]))

    def _outputs(self, found: Any) -> Dict[str, Any]:
        named = zip(self.graph.outputs, found if isinstance(found, tuple) else (found,))
        return {"output/" + name: each for name, each in named if each is not None}

    def gradients(self, batch: Tuple[np.ndarray, ...]) -> Arrays:
        if self.objective is None:
            raise Unsupported("no gradients without a loss")
        before = {name: self._canonical(name) for name in self.arrays if name.startswith("state/")}
        self.model.cleargrads()
        loss, outputs = self.objective(self.model, *batch)
        loss.backward()
        found = {"gradient/" + name.partition("/")[2]: self.places[name].canonical([_gradient(each) for each in arrays])
                 for name, arrays in self.arrays.items() if name.startswith("parameter/")}
        self._store(before)  # a pass in training mode moves statistics, too, and is not a step
        return dict(found, **self.read(dict(self._outputs(outputs), loss=loss)))

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
