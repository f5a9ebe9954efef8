# /// script
# requires-python = ">=3.11"
# dependencies = ["tinygrad==0.14.0", "numpy"]
# [tool.photofinish]
# title = "tinygrad"
# modes = ["jit"]
# compiles = { jit = "seconds" }
# download = "20 MB"
# disk = "120 MB"
# devices = ["cpu"]
# options = {}
# system = ["clang"]
# environment = { DEV = "CPU", CACHEDB = "{cache}/tinygrad/cache.db", PARALLEL = "0" }
# ///
"""tinygrad: a graph is written out as the classes a person would write, and that source is what runs.

Mode jit is TinyJit: the second call of a function is captured, and from the third on its kernels run by themselves.
clang compiles them, one after another (PARALLEL=0: not in processes that tinygrad would start beside the one that is
measured). GPUs were never run and are left out. The writing is in _tinygrad/.
"""

import linecache
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn
from tinygrad.helpers import NUM_CPU_THREADS

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._tinygrad.source import native_source
from photofinish.frameworks._tinygrad.weights import paths
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

SLOTS = {"velocity": "b", "moment1": "m", "moment2": "v"}  # the lists of tinygrad's optimizers
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: a @ b,
    "conv": lambda image, weight: image.conv2d(weight, padding=1),
    "multiply": lambda a, b: a * b,
}


def _load(graph: Graph) -> Any:
    """The source of a graph as a module that tracebacks can read."""
    source, name = native_source(graph), "<photofinish_tinygrad_{}>".format(graph.digest[:12])
    module: Any = types.ModuleType(name[1:-1])
    sys.modules[module.__name__] = module
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), vars(module))
    return module


def _optimizer(rule: optimizers.Optimizer, parameters: List[Any]) -> Any:
    if isinstance(rule, optimizers.SGD):
        return nn.optim.SGD(parameters, lr=rule.learning_rate, momentum=rule.momentum)
    return nn.optim.Adam(parameters, lr=rule.learning_rate, b1=rule.beta1, b2=rule.beta2, eps=rule.epsilon)


def _attribute(model: Any, path: str) -> Any:
    for word in path.split("."):
        model = getattr(model, word)
    return model


def _store(tensor: Any, array: Any) -> None:
    """In place: what TinyJit keeps refers to that memory."""
    tensor.assign(Tensor(np.array(array, np.float32, order="C").reshape(tensor.shape))).realize()


def _tensor(array: np.ndarray) -> Any:
    return Tensor(np.ascontiguousarray(array)).realize()


class Contestant(frameworks.Contestant):
    """tinygrad in mode "jit", on the CPU."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode != "jit":
            raise Unsupported("tinygrad has no mode {}: jit".format(setup.mode))
        if setup.options:
            raise Unsupported("tinygrad has no option {}".format(", ".join(setup.options)))
        if setup.precision != "float32":
            raise Unsupported("tinygrad trains in float32 here, not {}".format(setup.precision))
        if setup.device != "cpu":
            raise Unsupported("tinygrad runs on cpu here, not {}".format(setup.device))
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        if setup.regime == "matched":
            NUM_CPU_THREADS.value = setup.threads
        Tensor.manual_seed(setup.seed)

    def facts(self) -> Dict[str, Any]:
        return {"numpy": np.__version__, "device": Device.DEFAULT,  # tinygrad does not say its version
                "renderer": type(Device[Device.DEFAULT].renderer).__name__, "threads": NUM_CPU_THREADS.value,
                "denormals": "flushed through the C library" if self.flushed else "as they come"}

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        source = _load(graph)
        model = source.Model()
        self.graph, self.rule = graph, optimizer
        found = {name: _attribute(model, path) for name, path in paths(graph).items()}
        self.parameters = {name: found[name] for name in graph.parameters}
        self.state = {name: found[name] for name in graph.state}
        everything = nn.state.get_parameters(model)
        Tensor.realize(*everything)  # or drawing them would be part of the first step
        self.optimizer = _optimizer(optimizer or optimizers.SGD(), everything)
        self.variances = PopulationVariances(graph, batch, trains=optimizer is not None)
        self.steps, self.settled = 0, True

        def train_step(*batch: Any) -> Any:
            with Context(TRAINING=1):
                loss, _ = self._differentiated(source.training_loss(model, *batch))
                return {"loss": loss.realize(*self.optimizer.schedule_step())}

        def backward(*batch: Any) -> Any:
            with Context(TRAINING=1):
                loss, outputs = self._differentiated(source.training_loss(model, *batch))
                found = {"gradient/" + name: each.grad.contiguous() for name, each in self.parameters.items()}
                found.update(self._named(outputs), loss=loss)
                Tensor.realize(*found.values(), *self.optimizer.buffers)
                return found

        def infer(*inputs: Any) -> Any:
            found = self._named(model(*inputs))
            Tensor.realize(*found.values())
            return found

        self.train_call, self.backward_call, self.infer_call = map(TinyJit, (train_step, backward, infer))

    def _differentiated(self, found: Tuple[Any, Any]) -> Tuple[Any, Any]:
        """A loss whose gradients are there: zeros where none arrived."""
        self.optimizer.zero_grad()
        found[0].backward()
        for each in self.optimizer.params:
            each.grad = each.zeros_like() if each.grad is None else each.grad
        return found

    def _named(self, outputs: Any) -> Dict[str, Any]:
        """The outputs that there are: some exist in training only."""
        values = outputs if isinstance(outputs, tuple) else (outputs,)
        return {"output/" + name: value.contiguous() for name, value in zip(self.graph.outputs, values)
                if value is not None}

    def put(self, arrays: Arrays) -> None:
        for group, tensors in (("parameter/", self.parameters), ("state/", self.state)):
            for name, tensor in tensors.items():
                _store(tensor, arrays[group + name])
        self.steps = int(arrays.get("step", 0))
        for key, tensor in self._slots():
            _store(tensor, arrays.get(key, np.zeros(tensor.shape)))
        if isinstance(self.rule, optimizers.Adam):
            _store(self.optimizer.b1_t, [self.rule.beta1 ** self.steps])
            _store(self.optimizer.b2_t, [self.rule.beta2 ** self.steps])
        self._begin(arrays)

    def _slots(self) -> Iterator[Tuple[str, Any]]:
        """(canonical name, tensor) of the optimizer; without momentum tinygrad keeps no velocity."""
        number = {id(each): i for i, each in enumerate(self.optimizer.params)}
        for slot in self.rule.slots if self.rule is not None else ():
            tensors = getattr(self.optimizer, SLOTS[slot])
            for name, parameter in self.parameters.items() if tensors else ():
                yield "{}/{}".format(slot, name), tensors[number[id(parameter)]]

    def _begin(self, arrays: Arrays) -> None:
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def get(self) -> Arrays:
        arrays = {"parameter/" + name: tensor.numpy() for name, tensor in self.parameters.items()}
        arrays.update({"state/" + name: tensor.numpy() for name, tensor in self.state.items()})
        arrays.update({key: tensor.numpy() for key, tensor in self._slots()})
        arrays.update(self.variances.canonical(arrays, self.steps))
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _settle(self) -> None:
        """Before inference that follows training: the model itself gets the variances of the graph's convention."""
        found = {name: self.state[name.split("/", 1)[1]].numpy() for name in self.variances.terms}
        found = self.variances.canonical(found, self.steps)
        for name, values in found.items():
            _store(self.state[name.split("/", 1)[1]], values)
        self._begin(found)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Arrays in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(_tensor(arrays[name]) for name, _ in self.graph.inputs + self.graph.targets if name in arrays)

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if self.rule is None or not self.graph.losses:
            raise Unsupported("no training without an optimizer and a loss")
        self.steps += 1
        self.settled = False
        return self.train_call(*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        return self.infer_call(*batch[:len(self.graph.inputs)])

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if not self.graph.losses:
            raise Unsupported("no gradients without a loss")
        before = {name: tensor.numpy() for name, tensor in self.state.items()}
        arrays = self.read(self.backward_call(*batch))
        for name, values in before.items():  # a pass in training mode moves statistics, and is not a step
            _store(self.state[name], values)
        return arrays

    def wait(self, handle: Any) -> None:
        Device[Device.DEFAULT].synchronize()

    def read(self, handle: Any) -> Arrays:
        return {name: tensor.numpy() for name, tensor in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("tinygrad has no probe {}".format(name))
        return {"result": PROBES[name](*(_tensor(each.astype(np.float32)) for each in arrays.values())).numpy()}

    def evidence(self) -> Dict[str, Any]:
        """How many calls TinyJit has captured of what ran twice."""
        calls = (("train_step", self.train_call), ("infer", self.infer_call))
        captured = {name: len(call.captured.linear.src) for name, call in calls if call.captured is not None}
        return {"layout": "contiguous", "compiled": True, "captured_calls": captured}
