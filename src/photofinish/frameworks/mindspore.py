# /// script
# requires-python = ">=3.9,<3.13"
# dependencies = ["mindspore==2.10.0", "numpy<2"]
# [tool.photofinish]
# title = "MindSpore"
# modes = ["pynative", "jit"]
# compiles = { jit = "seconds" }
# download = "870 MB"
# disk = "2.9 GB"
# devices = ["cpu"]
# options = {}
# environment = { GLOG_v = "4" }
# [tool.photofinish.lines]
# threads = ["ms.device_context.cpu.op_tuning.threads_num({value})"]
# "mode=pynative" = []
# "mode=jit" = ["train_step = ms.jit(train_step)"]
# ///
"""MindSpore: a graph is written out as the nn.Cell a person would write, and that source is what runs.

The writing is in _mindspore/. Mode pynative runs operation by operation, mode jit is mindspore.jit of a whole step, its
optimizer included, and of inference.

With AVX-512 its convolutions and their gradients to the image are oneDNN's reference code (ONEDNN_VERBOSE=1 names
jit_uni_ncsp:conv+ref:any), since every array is handed over in the plain layout. mindspore:jit[ONEDNN_MAX_CPU_ISA=AVX2]
gets products of matrices for them. The number of threads does not reach oneDNN either: on two cores its work was
divided among the same threads, one asked for or two; what holds a process is the cores that it is given.
"""

from functools import reduce
from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import mindspore as ms
import numpy as np
from mindspore import nn, ops
from mindspore.graph.api import _pynative_executor

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.frameworks._mindspore.source import native_source
from photofinish.frameworks._mindspore.weights import places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

DTYPES = {"f": ms.float32, "b": ms.bool_}  # integers are indices: int32
SLOTS = {"velocity": "moments", "moment1": "moment1", "moment2": "moment2"}  # what the optimizers call them


def matmul(a: Any, b: Any) -> Any:
    return ops.matmul(a, b)


def multiply(a: Any, b: Any) -> Any:
    return a * b


def conv(image: Any, weight: Any) -> Any:
    return ops.conv2d(image, weight, pad_mode="pad", padding=1)


PROBES: Dict[str, Callable[..., Any]] = {"matmul": matmul, "multiply": multiply, "conv": conv}


class Aligned:
    """The threads that this process was told: MindSpore takes them once."""

    threads: Optional[int] = None

    @classmethod
    def to(cls, threads: int) -> None:
        """Raises Unsupported where it was told another number before."""
        if cls.threads is None:
            ms.device_context.cpu.op_tuning.threads_num(threads)
            cls.threads = threads
        if cls.threads != threads:
            raise Unsupported("MindSpore takes the number of threads once in a process: {}".format(cls.threads))


class TrainStep(nn.Cell):  # type: ignore[misc]
    """A step: mindspore.jit reads methods of a cell, no closures."""

    def __init__(self, objective: Any, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        self.gradients = ms.value_and_grad(objective, None, optimizer.parameters, has_aux=True)
        self.optimizer = optimizer

    def construct(self, *batch: Any) -> Any:
        (loss, _), found = self.gradients(*batch)
        self.optimizer(found)
        return loss


class Backward(nn.Cell):  # type: ignore[misc]
    """The loss, the outputs and the gradients."""

    def __init__(self, objective: Any, parameters: Any) -> None:
        super().__init__(auto_prefix=False)
        self.gradients = ms.value_and_grad(objective, None, parameters, has_aux=True)

    def construct(self, *batch: Any) -> Any:
        return self.gradients(*batch)


class Adam(nn.Cell):  # type: ignore[misc]
    """MindSpore's kernel as nn.Adam runs it, as a graph in either mode, but for epsilon: the kernel adds it before the
    bias correction, which is made up for at each step."""

    def __init__(self, parameters: Any, rule: optimizers.Adam) -> None:
        super().__init__(auto_prefix=False)
        self.rule, self.kernel, self.count = rule, ops.Adam(), len(parameters)
        self.parameters = ms.ParameterTuple(parameters)
        self.moment1, self.moment2 = (self.parameters.clone(name, "zeros") for name in rule.slots)
        self.rate, self.beta1, self.beta2, self.epsilon = (
            ms.Tensor(each, ms.float32) for each in (rule.learning_rate, rule.beta1, rule.beta2, rule.epsilon))
        self.power1, self.power2 = (ms.Parameter(ms.Tensor(1, ms.float32), "power%d" % i, requires_grad=False)
                                    for i in (1, 2))

    def begin(self, steps: int) -> None:
        """Its count of steps: the powers of its betas, which it multiplies up in float32."""
        for power, beta in ((self.power1, self.rule.beta1), (self.power2, self.rule.beta2)):
            factors = np.full(steps, beta, np.float32)
            ops.assign(power, ms.Tensor(np.multiply.reduce(factors), ms.float32))

    @ms.jit  # type: ignore[untyped-decorator]
    def construct(self, gradients: Any) -> Any:
        power1, power2 = self.power1 * self.beta1, self.power2 * self.beta2
        self.power1, self.power2 = power1, power2
        epsilon = self.epsilon * ops.sqrt(1 - power2)
        for i in range(self.count):
            self.kernel(self.parameters[i], self.moment1[i], self.moment2[i], power1, power2, self.rate, self.beta1,
                        self.beta2, epsilon, gradients[i])
        return True


def _optimizer(rule: optimizers.Optimizer, parameters: Any) -> Any:
    if isinstance(rule, optimizers.Adam):
        return Adam(parameters, rule)
    if rule.momentum == 0:
        return nn.SGD(parameters, rule.learning_rate)
    return nn.Momentum(parameters, rule.learning_rate, rule.momentum)


def _find(cell: Any, path: str) -> Any:
    """A parameter of a cell; a number is a place in a tuple of them."""
    return reduce(lambda found, name: found[int(name)] if name.isdigit() else getattr(found, name), path.split("."),
                  cell)


def _array(tensor: Any) -> np.ndarray:
    return np.array(tensor.asnumpy(), order="C")


def _tensor(array: np.ndarray) -> Any:
    return ms.Tensor(np.array(array, order="C"), DTYPES.get(array.dtype.kind, ms.int32))


class Contestant(Trainer):
    """MindSpore in mode "pynative" or "jit"; float32."""

    title = "MindSpore"
    modes = ("pynative", "jit")
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        ms.set_device("CPU")
        ms.set_seed(setup.seed)
        self.operations: Dict[str, Any] = {}  # the probes that were used, in this mode
        if setup.regime == "matched":
            Aligned.to(setup.threads)

    def facts(self) -> Dict[str, Any]:
        return {"version": ms.__version__, "numpy": np.__version__, "device": ms.get_context("device_target"),
                "threads": self.setup.threads if self.setup.regime == "matched" else "as MindSpore chooses",
                "denormals": "flushed through the C library" if self.flushed else "as they come",
                "adam": "MindSpore's kernel, its epsilon corrected at each step: it adds epsilon before the bias "
                        "correction"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "mindspore", graph)
        self.model = source.Model()
        self.calls = {"infer": self._in_mode(self.model)}
        self.optimizer: Any = None
        if graph.losses:
            objective = source.TrainingLoss(self.model)
            self.parameters = self.model.trainable_params()
            self.calls["backward"] = self._in_mode(Backward(objective, ms.ParameterTuple(self.parameters)))
            if optimizer is not None:
                self.optimizer = _optimizer(optimizer, self.parameters)
                self.calls["train_step"] = self._in_mode(TrainStep(objective, self.optimizer))
        self.places = places(graph)
        return {name: _find(self.model, place.path) for name, place in self.places.items()}

    def _in_mode(self, cell: Any) -> Any:
        return ms.jit(cell.construct) if self.setup.mode == "jit" else cell

    def _shape(self, name: str) -> Tuple[int, ...]:
        group, _, own = name.partition("/")
        return (self.graph.state if group == "state" else self.graph.parameters)[own].shape

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return self.places[name].canonical(_array(handle).reshape(self._shape(name)))

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        """In place: what is compiled goes on with the memory that it knows, whatever set_data brings."""
        ops.assign(handle, _tensor(self.places[name].native(array).reshape(handle.shape)))

    def _slots(self) -> Iterator[Slot]:
        """Without momentum MindSpore keeps none. Adam's moments are by 1 - beta in float32."""
        if self.optimizer is None or getattr(self.rule, "momentum", 1) == 0:
            return
        numbers = {id(each): number for number, each in enumerate(self.optimizer.parameters)}
        for slot in self.rule.slots:
            beta = getattr(self.rule, slot.replace("moment", "beta"), 0.0)
            for name in self.graph.parameters:
                number = numbers[id(self.handles["parameter/" + name])]
                kept = getattr(self.optimizer, SLOTS[slot])[number]
                yield slot, name, kept, (1 - float(np.float32(beta))) / (1 - beta)

    def _count(self) -> None:
        if isinstance(self.optimizer, Adam):
            self.optimizer.begin(self.steps)

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return _tensor(array)

    def _call(self, name: str, training: bool, arguments: Tuple[Any, ...]) -> Any:
        if self.model.training != training:  # asked at each step, not set: setting it walks over every cell
            self.model.set_train(training)
        return self.calls[name](*arguments)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        return self._call("train_step", True, batch)

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        return self._call("infer", False, inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        (loss, outputs), found = self._call("backward", True, batch)
        gradients = {id(parameter): each for parameter, each in zip(self.parameters, found)}
        arrays = {}
        for name in self.graph.parameters:
            key = "parameter/" + name
            arrays["gradient/" + name] = self._read(key, gradients[id(self.handles[key])])
        return dict(arrays, loss=_array(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        """For everything: in mode pynative Python only hands operations over. (runtime.synchronize has no CPU.)"""
        _pynative_executor.sync()

    def read(self, handle: Any) -> Arrays:
        if isinstance(handle, ms.Tensor) and handle.ndim == 0:  # outputs have a batch axis, the loss has none
            return {"loss": _array(handle)}
        return {name: _array(tensor) for name, tensor in self._named(handle).items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("MindSpore has no probe {}".format(name))
        if name not in self.operations:
            self.operations[name] = ms.jit(PROBES[name]) if self.setup.mode == "jit" else PROBES[name]
        return {"result": _array(self.operations[name](*map(_tensor, arrays.values())))}

    def evidence(self) -> Dict[str, Any]:
        return {"layout": "channels_first", "compiled": self.setup.mode == "jit"}
