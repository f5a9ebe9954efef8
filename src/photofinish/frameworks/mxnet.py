# /// script
# requires-python = ">=3.8,<3.12"
# dependencies = ["mxnet==1.9.1", "numpy==1.23.5"]
# [tool.photofinish]
# title = "MXNet"
# modes = ["hybrid", "imperative"]
# download = "67 MB"
# disk = "285 MB"
# devices = ["cpu"]
# options = {}
# ///
"""MXNet: a graph is written out as the Gluon blocks a person would write, and that source is what runs. The writing is
in _gluon/.

Mode "hybrid" hybridizes model and loss as one block, with static_alloc and static_shape. What pip brings is a build for
CPUs.
"""

import linecache
import math
import os
import sys
import types
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple

import mxnet as mx
import numpy as np

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.frameworks._gluon.source import native_source
from photofinish.frameworks._gluon.weights import places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

PROBES: Dict[str, Callable[..., Any]] = {  # as layers compute them; hybridizing changes no kernel
    "matmul": lambda a, b: mx.nd.FullyConnected(a, b.T, num_hidden=b.shape[1], no_bias=True),
    "conv": lambda image, weight: mx.nd.Convolution(
        image, weight, kernel=weight.shape[2:], pad=(1, 1), num_filter=weight.shape[0], no_bias=True),
    "multiply": lambda a, b: a * b,
}
FEATURES = ("MKLDNN", "OPENMP", "BLAS_OPEN", "BLAS_MKL", "LAPACK", "CUDA")
UNUSED = "is not used by any computation"  # of a parameter that only an output needs which the loss does not see


def _load(graph: Graph) -> Any:
    """The source of a graph as a module that tracebacks can read."""
    source, filename = native_source(graph), "<photofinish_mxnet_{}>".format(graph.digest[:12])
    module: Any = types.ModuleType(filename[1:-1])
    sys.modules[module.__name__] = module
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), vars(module))
    return module


def _optimizer(optimizer: optimizers.Optimizer) -> Any:
    """MXNet's own. Its Adam makes moments that are larger by what float32 makes of 1 - beta: its rate undoes that."""
    if isinstance(optimizer, optimizers.SGD):
        return mx.optimizer.SGD(learning_rate=optimizer.learning_rate, momentum=optimizer.momentum)
    rate = optimizer.learning_rate * math.sqrt(_excess(optimizer.beta2)) / _excess(optimizer.beta1)
    return mx.optimizer.Adam(learning_rate=rate, beta1=optimizer.beta1, beta2=optimizer.beta2)


def _epsilon(optimizer: optimizers.Adam, step: int) -> float:
    """What MXNet's Adam must add at a step: it adds epsilon before the bias correction."""
    return optimizer.epsilon * math.sqrt((1 - optimizer.beta2 ** step) * _excess(optimizer.beta2))


def _excess(beta: float) -> float:
    """How many times 1 - beta it is what float32 makes of it: 0.99999 of 1 - 0.999."""
    return float(np.float32(1) - np.float32(beta)) / (1 - beta)


class Contestant(frameworks.Contestant):
    """MXNet with Gluon in mode "hybrid" or "imperative"; float32."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode not in ("hybrid", "imperative"):
            raise Unsupported("MXNet has no mode {}: hybrid or imperative".format(setup.mode))
        if setup.options:
            raise Unsupported("MXNet has no option {}".format(", ".join(setup.options)))
        if setup.precision != "float32":
            raise Unsupported("MXNet races in float32 here, not {}".format(setup.precision))
        if setup.device != "cpu":
            raise Unsupported("this MXNet runs on the cpu, not {}".format(setup.device))
        warnings.filterwarnings("ignore", message=".*" + UNUSED)
        mx.random.seed(setup.seed)

    def facts(self) -> Dict[str, Any]:
        built = mx.runtime.Features()
        return {"version": mx.__version__, "numpy": np.__version__,
                "built_with": [name for name in FEATURES if name in built and built.is_enabled(name)],
                "threads": os.environ.get("OMP_NUM_THREADS", "as MXNet chooses"),  # OpenMP's, read when it is imported
                "adam": "MXNet's; rate and epsilon make up for float32's 1 - beta and for where it adds epsilon",
                "batch_norm": "the running variance takes n in training; converted when read or used"}

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        self.graph = graph
        self.rule: Any = optimizer
        source = _load(graph)
        self.model = source.Model()
        self.model.initialize()
        self.objective = source.TrainingLoss(self.model) if graph.losses else None
        self.shown = source.TrainingLoss(self.model, outputs=True) if graph.losses else None
        if self.setup.mode == "hybrid":
            for block in filter(None, (self.model, self.objective, self.shown)):
                block.hybridize(static_alloc=True, static_shape=True)
        self.places = places(graph)
        self.arrays = {name: _find(self.model, place.path) for name, place in self.places.items()}
        self.trainer: Any = None
        if optimizer is not None:
            self.trainer = mx.gluon.Trainer(self.model.collect_params(), _optimizer(optimizer), kvstore=None)
        self.variances = SampleVariances(graph, batch, trains=optimizer is not None)
        self.steps, self.settled = 0, True

    def put(self, arrays: Arrays) -> None:
        self.steps = int(arrays.get("step", 0))
        self._store({name: arrays[name] for name in self.arrays})
        for slot, name, tensor, factor in self._slots():
            given = arrays.get("{}/{}".format(slot, name))
            tensor[:] = 0 if given is None else factor * self.places["parameter/" + name].native(given)
        if self.trainer is not None:
            counts = self.trainer.optimizer
            counts.begin_num_update = counts.num_update = self.steps
            counts._index_update_count.clear()
        self._begin(arrays)

    def _store(self, arrays: Arrays) -> None:
        for name, array in arrays.items():
            self.arrays[name].set_data(_tensor(self.places[name].native(array)))

    def _begin(self, arrays: Arrays) -> None:
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def _slots(self) -> List[Tuple[str, str, Any, float]]:
        """(slot, parameter name, MXNet's array, MXNet's value over ours), made where it is not there yet."""
        found: List[Tuple[str, str, Any, float]] = []
        if self.trainer is None or getattr(self.rule, "momentum", 1) == 0:  # without momentum MXNet keeps nothing
            return found
        optimizer, (updater,) = self.trainer.optimizer, self.trainer._updaters
        numbers = {id(each): number for number, each in enumerate(self.trainer._params)}
        for name, parameter in self.arrays.items():
            group, _, own = name.partition("/")
            if group == "parameter":
                number = numbers[id(parameter)]
                if number not in updater.states:
                    updater.states[number] = optimizer.create_state_multi_precision(number, parameter.data())
                    updater.states_synced[number] = True
                kept = updater.states[number]
                if isinstance(self.rule, optimizers.SGD):  # keeps -learning rate * velocity
                    found.append(("velocity", own, kept, -self.rule.learning_rate))
                else:
                    found += [("moment1", own, kept[0], _excess(self.rule.beta1)),
                              ("moment2", own, kept[1], _excess(self.rule.beta2))]
        return found

    def get(self) -> Arrays:
        arrays = {name: self._canonical(name, parameter.data()) for name, parameter in self.arrays.items()}
        arrays.update(self.variances.canonical(arrays, self.steps))
        arrays.update({"{}/{}".format(slot, name): self._canonical("parameter/" + name, tensor) / np.float32(factor)
                       for slot, name, tensor, factor in self._slots()})
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _canonical(self, name: str, tensor: Any) -> np.ndarray:
        return np.array(self.places[name].canonical(tensor.asnumpy()), order="C")

    def _settle(self) -> None:
        """Before inference that follows training: the model itself gets the variances of the graph's convention."""
        found = {name: self._canonical(name, self.arrays[name].data()) for name in self.variances.terms}
        found = self.variances.canonical(found, self.steps)
        self._store(found)
        self._begin(found)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Arrays in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(_tensor(arrays[name]) for name, _ in self.graph.inputs + self.graph.targets if name in arrays)

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if self.trainer is None or self.objective is None:
            raise Unsupported("no training without an optimizer and a loss")
        with mx.autograd.record():
            loss = self.objective(*batch)
        loss.backward()
        self.steps += 1
        if isinstance(self.rule, optimizers.Adam):
            self.trainer.optimizer.epsilon = _epsilon(self.rule, self.steps)
        self.trainer.step(1, ignore_stale_grad=True)  # stale: what the loss does not depend on
        self.settled = False
        return {"loss": loss}

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        return self._outputs(self.model(*batch[:len(self.graph.inputs)]))

    def _outputs(self, found: Any, training: bool = False) -> Dict[str, Any]:
        absent = {name for node in self.graph.nodes if node.training_only and not training for name in node.outputs}
        names = [name for name in self.graph.outputs if name not in absent]
        return dict(zip(("output/" + name for name in names), found if isinstance(found, (list, tuple)) else [found]))

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if self.shown is None:
            raise Unsupported("no gradients without a loss")
        before = {name: each.data().copy() for name, each in self.arrays.items() if name.startswith("state/")}
        self.model.collect_params().zero_grad()
        with mx.autograd.record():
            loss, *outputs = self.shown(*batch)
        loss.backward()
        found = {"gradient/" + name.partition("/")[2]: self._canonical(name, each.grad())
                 for name, each in self.arrays.items() if name.startswith("parameter/")}
        found.update(self.read(dict(self._outputs(outputs, training=True), loss=loss)))
        for name, values in before.items():  # a pass in training mode moves statistics, too, and is not a step
            self.arrays[name].set_data(values)
        return found

    def wait(self, handle: Any) -> None:
        """For everything: a step is done when its parameters are there too."""
        mx.nd.waitall()

    def read(self, handle: Dict[str, Any]) -> Arrays:
        arrays = {name: each.asnumpy() for name, each in handle.items()}
        return dict(arrays, loss=arrays["loss"].reshape(())) if "loss" in arrays else arrays

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("MXNet has no probe {}".format(name))
        return {"result": PROBES[name](*map(_tensor, arrays.values())).asnumpy()}

    def evidence(self) -> Dict[str, Any]:
        cached = {"train_step": self.objective, "infer": self.model}
        operators = {task: _operators(block) for task, block in cached.items() if getattr(block, "_cached_op", None)}
        return {"layout": "channels_first", "hybridized": self.setup.mode == "hybrid",
                "operators_of_cached_graphs": operators}


def _tensor(array: np.ndarray) -> Any:
    """A copy: masks become 1 and 0, which is what MXNet's operators know."""
    return mx.nd.array(array, dtype=np.float32 if array.dtype.kind in "fb" else np.int32)


def _find(block: Any, path: str) -> Any:
    for name in path.split("."):
        block = getattr(block, name)
    return block


def _operators(block: Any) -> int:
    """How many operators the graph has that a hybridized block runs."""
    nodes = mx.sym.Group(list(block._cached_graph[1])).get_internals()
    return len({each.name for each in nodes} - set(nodes.list_arguments()) - set(nodes.list_auxiliary_states()))
