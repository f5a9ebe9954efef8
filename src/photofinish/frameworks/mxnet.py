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
# [tool.photofinish.lines]
# threads = ["export OMP_NUM_THREADS={value}"]
# "mode=imperative" = []
# "mode=hybrid" = ["net.hybridize(static_alloc=True, static_shape=True)"]
# ///
"""MXNet: a graph is written out as the Gluon blocks a person would write, and that source is what runs. The writing is
in _gluon/.

Mode "hybrid" hybridizes model and loss as one block, with static_alloc and static_shape. What pip brings is a build for
CPUs.
"""

import math
import os
import warnings
from functools import reduce
from typing import Any, Callable, Dict, Iterable, Iterator, Tuple

import mxnet as mx
import numpy as np

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.trainer import Slot, Trainer
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


class Contestant(Trainer):
    """MXNet with Gluon in mode "hybrid" or "imperative"; float32."""

    title = "MXNet"
    modes = ("hybrid", "imperative")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        warnings.filterwarnings("ignore", message=".*" + UNUSED)
        mx.random.seed(setup.seed)

    def facts(self) -> Dict[str, Any]:
        built = mx.runtime.Features()
        return {"version": mx.__version__, "numpy": np.__version__,
                "built_with": [name for name in FEATURES if name in built and built.is_enabled(name)],
                "threads": os.environ.get("OMP_NUM_THREADS", "as MXNet chooses"),  # OpenMP's, read when it is imported
                "adam": "MXNet's; rate and epsilon make up for float32's 1 - beta and for where it adds epsilon",
                "batch_norm": "the running variance takes n in training; converted when read or used"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "mxnet", graph)
        self.model = source.Model()
        self.model.initialize()
        self.objective: Any = source.TrainingLoss(self.model) if graph.losses else None
        self.shown: Any = source.TrainingLoss(self.model, outputs=True) if graph.losses else None
        if self.setup.mode == "hybrid":
            for block in filter(None, (self.model, self.objective, self.shown)):
                block.hybridize(static_alloc=True, static_shape=True)
        self.trainer: Any = None
        if optimizer is not None:
            self.trainer = mx.gluon.Trainer(self.model.collect_params(), _optimizer(optimizer), kvstore=None)
        self.places = places(graph)
        return {name: reduce(getattr, place.path.split("."), self.model) for name, place in self.places.items()}

    def _read(self, name: str, handle: Any) -> np.ndarray:
        """Of a parameter, or of an array like it."""
        tensor = handle.data() if isinstance(handle, mx.gluon.Parameter) else handle
        return np.array(self.places[name].canonical(tensor.asnumpy()), order="C")

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        values = _tensor(self.places[name].native(array))
        if isinstance(handle, mx.gluon.Parameter):
            handle.set_data(values)
        else:
            handle[:] = values

    def _values(self, names: Iterable[str]) -> Arrays:
        """Waits first: a read waits for what wrote the array, but not for the statistics that the first step of a
        hybridized block moves."""
        mx.nd.waitall()
        return super()._values(names)

    def _slots(self) -> Iterator[Slot]:
        if self.trainer is None or getattr(self.rule, "momentum", 1) == 0:  # without momentum MXNet keeps nothing
            return
        optimizer, (updater,) = self.trainer.optimizer, self.trainer._updaters
        numbers = {id(each): number for number, each in enumerate(self.trainer._params)}
        for name in self.graph.parameters:
            parameter = self.handles["parameter/" + name]
            number = numbers[id(parameter)]
            if number not in updater.states:
                updater.states[number] = optimizer.create_state_multi_precision(number, parameter.data())
                updater.states_synced[number] = True
            kept = updater.states[number]
            if isinstance(self.rule, optimizers.SGD):  # keeps -learning rate * velocity
                yield "velocity", name, kept, -self.rule.learning_rate
            else:
                yield "moment1", name, kept[0], _excess(self.rule.beta1)
                yield "moment2", name, kept[1], _excess(self.rule.beta2)

    def _count(self) -> None:
        if self.trainer is not None:
            counts = self.trainer.optimizer
            counts.begin_num_update = counts.num_update = self.steps
            counts._index_update_count.clear()

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return _tensor(array)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        with mx.autograd.record():
            loss = self.objective(*batch)
        loss.backward()
        if isinstance(self.rule, optimizers.Adam):
            self.trainer.optimizer.epsilon = _epsilon(self.rule, self.steps)
        self.trainer.step(1, ignore_stale_grad=True)  # stale: what the loss does not depend on
        return {"loss": loss}

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        return self._outputs(self.model(*inputs))

    def _outputs(self, found: Any, training: bool = False) -> Dict[str, Any]:
        absent = {name for node in self.graph.nodes if node.training_only and not training for name in node.outputs}
        names = [name for name in self.graph.outputs if name not in absent]
        return dict(zip(("output/" + name for name in names), found if isinstance(found, (list, tuple)) else [found]))

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        self.model.collect_params().zero_grad()
        with mx.autograd.record():
            loss, *outputs = self.shown(*batch)
        loss.backward()
        found = {"gradient/" + name: self._read("parameter/" + name, self.handles["parameter/" + name].grad())
                 for name in self.graph.parameters}
        return dict(found, **self.read(dict(self._outputs(outputs, training=True), loss=loss)))

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


def _operators(block: Any) -> int:
    """How many operators the graph has that a hybridized block runs."""
    nodes = mx.sym.Group(list(block._cached_graph[1])).get_internals()
    return len({each.name for each in nodes} - set(nodes.list_arguments()) - set(nodes.list_auxiliary_states()))
