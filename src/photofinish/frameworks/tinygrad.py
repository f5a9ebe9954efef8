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
# [tool.photofinish.lines]
# "mode=jit" = ["train_step = TinyJit(train_step)"]
# ///
"""tinygrad: a graph is written out as the classes a person would write, and that source is what runs.

Mode jit is TinyJit: the second call of a function is captured, and from the third on its kernels run by themselves.
clang compiles them, one after another (PARALLEL=0: not in processes that tinygrad would start beside the one that is
measured). GPUs were never run and are left out. The writing is in _tinygrad/.
"""

from functools import reduce
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, nn
from tinygrad.helpers import NUM_CPU_THREADS

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
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


def _optimizer(rule: optimizers.Optimizer, parameters: List[Any]) -> Any:
    if isinstance(rule, optimizers.SGD):
        return nn.optim.SGD(parameters, lr=rule.learning_rate, momentum=rule.momentum)
    return nn.optim.Adam(parameters, lr=rule.learning_rate, b1=rule.beta1, b2=rule.beta2, eps=rule.epsilon)


def _tensor(array: np.ndarray) -> Any:
    return Tensor(np.ascontiguousarray(array)).realize()


class Jit:
    """A TinyJit for each size of batch: what one has captured takes no other."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.sizes: Dict[int, Any] = {}

    def __call__(self, *batch: Any) -> Any:
        size = batch[0].shape[0]
        if size not in self.sizes:
            self.sizes[size] = TinyJit(self.function)
        return self.sizes[size](*batch)

    def captured(self) -> List[int]:
        """How many calls each has captured that ran twice."""
        return [len(each.captured.linear.src) for each in self.sizes.values() if each.captured is not None]


class Contestant(Trainer):
    """tinygrad in mode "jit", on the CPU."""

    title = "tinygrad"
    modes = ("jit",)
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        if setup.regime == "matched":
            NUM_CPU_THREADS.value = setup.threads
        Tensor.manual_seed(setup.seed)

    def facts(self) -> Dict[str, Any]:
        return {"numpy": np.__version__, "device": Device.DEFAULT,  # tinygrad does not say its version
                "renderer": type(Device[Device.DEFAULT].renderer).__name__, "threads": NUM_CPU_THREADS.value,
                "denormals": "flushed through the C library" if self.flushed else "as they come"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "tinygrad", graph)
        model = source.Model()
        handles = {name: reduce(getattr, path.split("."), model) for name, path in paths(graph).items()}
        everything = nn.state.get_parameters(model)
        Tensor.realize(*everything)  # or drawing them would be part of the first step
        self.optimizer = _optimizer(optimizer or optimizers.SGD(), everything)

        def train_step(*batch: Any) -> Any:
            with Context(TRAINING=1):
                loss, _ = self._differentiated(source.training_loss(model, *batch))
                return {"loss": loss.realize(*self.optimizer.schedule_step())}

        def backward(*batch: Any) -> Any:
            with Context(TRAINING=1):
                loss, outputs = self._differentiated(source.training_loss(model, *batch))
                seen = {"gradient/" + name: handles["parameter/" + name].grad.contiguous() for name in graph.parameters}
                seen.update(self._outputs(outputs), loss=loss)
                Tensor.realize(*seen.values(), *self.optimizer.buffers)
                return seen

        def infer(*inputs: Any) -> Any:
            seen = self._outputs(model(*inputs))
            Tensor.realize(*seen.values())
            return seen

        self.train_call, self.backward_call, self.infer_call = map(Jit, (train_step, backward, infer))
        return handles

    def _differentiated(self, found: Tuple[Any, Any]) -> Tuple[Any, Any]:
        """A loss whose gradients are there: zeros where none arrived."""
        self.optimizer.zero_grad()
        found[0].backward()
        for each in self.optimizer.params:
            each.grad = each.zeros_like() if each.grad is None else each.grad
        return found

    def _outputs(self, found: Any) -> Dict[str, Any]:
        return {name: value.contiguous() for name, value in self._named(found).items()}

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return handle.numpy()  # type: ignore[no-any-return]

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        """In place: what TinyJit keeps refers to that memory."""
        handle.assign(Tensor(np.array(array, np.float32, order="C").reshape(handle.shape))).realize()

    def _slots(self) -> Iterator[Slot]:
        number = {id(each): i for i, each in enumerate(self.optimizer.params)}
        for slot in self.rule.slots if self.rule is not None else ():
            tensors = getattr(self.optimizer, SLOTS[slot])  # none without momentum
            for name in self.graph.parameters if tensors else ():
                yield slot, name, tensors[number[id(self.handles["parameter/" + name])]], 1.0

    def _count(self) -> None:
        if isinstance(self.rule, optimizers.Adam):
            for power, beta in ((self.optimizer.b1_t, self.rule.beta1), (self.optimizer.b2_t, self.rule.beta2)):
                self._write("", power, np.array([beta ** self.steps]))

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return _tensor(array)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        return self.train_call(*batch)

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        return self.infer_call(*inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        return self.read(self.backward_call(*batch))

    def wait(self, handle: Any) -> None:
        Device[Device.DEFAULT].synchronize()

    def kept(self, handle: Any) -> Any:
        """TinyJit writes every result where the one before was."""
        return {name: tensor.clone().realize() for name, tensor in handle.items()}

    def read(self, handle: Any) -> Arrays:
        return {name: tensor.numpy() for name, tensor in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("tinygrad has no probe {}".format(name))
        return {"result": PROBES[name](*(_tensor(each.astype(np.float32)) for each in arrays.values())).numpy()}

    def evidence(self) -> Dict[str, Any]:
        """How many calls TinyJit has captured of what ran twice."""
        calls = (("train_step", self.train_call), ("infer", self.infer_call))
        captured = {name: max(call.captured()) for name, call in calls if call.captured()}
        return {"layout": "contiguous", "compiled": True, "captured_calls": captured}
