# /// script
# requires-python = ">=3.6,<3.7"
# dependencies = ["cntk==2.7", "numpy<1.17", "pip<22"]
# [tool.photofinish]
# title = "CNTK"
# modes = ["graph"]
# system = ["libmpi"]
# download = "120 MB"
# disk = "460 MB"
# devices = ["cpu"]
# options = {}
# [tool.photofinish.libraries]
# "libmpi.so.12" = "libmpi.so.40"
# "libmpi_cxx.so.1" = "libmpi_cxx.so.40"
# ///
"""CNTK: a graph is written out as the classes a person would write, whose call adds to CNTK's symbolic graph, and that
source is what runs. The writing is in _cntk/.

It was built for Open MPI 1.10, whose libraries a later one stands in for (header: libraries); one process uses nothing
of them. It asks pip what is installed. The update is CNTK's universal learner, which is told the rule: the learners
that it ships keep what they remember to themselves.
"""

import warnings
from collections import Counter
from functools import reduce
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np

with warnings.catch_warnings():  # that it finds no GPU's libraries
    warnings.simplefilter("ignore")
    import cntk

from photofinish import optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._cntk.native import paths
from photofinish.frameworks._cntk.source import native_source
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: cntk.times(a, b),
    "conv": lambda image, weight: cntk.convolution(weight, cntk.pad(image, [(0, 0), (1, 1), (1, 1)]),
                                                   auto_padding=[False] * 3),
    "multiply": lambda a, b: a * b,
}


class Contestant(Trainer):
    """CNTK, float32 on the CPU. Integers and masks are fed as floats, which is all it has."""

    title = "CNTK"
    modes = ("graph",)
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        cntk.device.try_set_default_device(cntk.device.cpu())
        cntk.cntk_py.set_max_num_cputhreads(setup.threads)
        cntk.cntk_py.reset_random_seed(setup.seed)  # a fixed seed would give every dropout the same mask

    def facts(self) -> Dict[str, Any]:
        return {"version": cntk.__version__, "numpy": np.__version__,
                "threads": cntk.cntk_py.get_max_num_cputhreads(),
                "denormals": "flushed through the C library" if self.flushed else "as they come"}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        source = execute(native_source(graph), "cntk", graph)
        source.Layer.batch = self.batch
        model = source.Model()
        handles = {name: reduce(getattr, path.split("."), model) for name, path in paths(graph).items()}
        self.symbols = [cntk.input_variable(spec.shape, np.float32) for _, spec in graph.inputs + graph.targets]
        outputs = self._named(model(*self.symbols[:len(graph.inputs)]))
        self.outputs, self.inference = list(outputs), cntk.combine(list(outputs.values()))
        self.slots: Dict[str, Any] = {}
        if graph.losses:
            source.Layer.training = True
            loss, trained = source.training_loss(model, *self.symbols)
            outputs = self._named(trained)
            self.trained, self.training = list(outputs), cntk.combine([loss] + list(outputs.values()))
            self.wrt = {name: handles["parameter/" + name] for name in graph.parameters
                        if handles["parameter/" + name] in loss.parameters}  # others have no gradient
            if optimizer is not None:
                self.trainer = cntk.Trainer(None, (loss, None), [self._learner(optimizer)])
        return handles

    def _learner(self, rule: Any) -> Any:
        """The rule, in assignments."""
        self.count = cntk.constant(0.0, ())
        kept = rule.slots if getattr(rule, "momentum", 1) else ()  # without momentum nobody keeps a velocity
        self.slots = {"{}/{}".format(slot, name): cntk.constant(0.0, spec.shape) for slot in kept
                      for name, spec in self.graph.parameters.items()}

        def update(parameters: List[Any], gradients: List[Any]) -> Any:
            names = {each.uid: name for name, each in self.wrt.items()}
            steps = cntk.assign(self.count, self.count + 1)
            return cntk.combine([self._moved(rule, names[each.uid], each, gradient, steps)
                                 for each, gradient in zip(parameters, gradients)])
        return cntk.universal(update, list(self.wrt.values()))

    def _moved(self, rule: Any, name: str, parameter: Any, gradient: Any, steps: Any) -> Any:
        """What assigns a parameter's next value, and the slots' with it."""
        change, assigned = gradient, cntk.assign
        if isinstance(rule, optimizers.Adam):
            first, second = (self.slots["{}/{}".format(slot, name)] for slot in rule.slots)
            mean = assigned(first, rule.beta1 * first + (1 - rule.beta1) * gradient)
            square = assigned(second, rule.beta2 * second + (1 - rule.beta2) * gradient * gradient)
            shares = [1 - cntk.exp(steps * np.log(beta)) for beta in (rule.beta1, rule.beta2)]
            change = mean / shares[0] / (cntk.sqrt(square / shares[1]) + rule.epsilon)
        elif rule.momentum:
            velocity = self.slots["velocity/" + name]
            change = assigned(velocity, rule.momentum * velocity + gradient)
        return assigned(parameter, parameter - rule.learning_rate * change)

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return np.array(handle.value)

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        handle.value = np.ascontiguousarray(array, np.float32)

    def _slots(self) -> Iterator[Slot]:
        for key, handle in self.slots.items():
            slot, _, name = key.partition("/")
            yield slot, name, handle, 1.0

    def _count(self) -> None:
        if self.rule is not None and self.graph.losses:
            self.count.value = np.array(self.steps, np.float32)

    def _fed(self, array: np.ndarray, spec: Any) -> np.ndarray:
        return np.ascontiguousarray(array, np.float32)

    def _train(self, batch: Tuple[np.ndarray, ...]) -> Any:
        loss = self.training.outputs[0]  # the trainer's own figure is divided by the batch once more
        _, found = self.trainer.train_minibatch(dict(zip(self.symbols, batch)), outputs=[loss])
        return {"loss": np.float32(found[loss].reshape(()))}

    def _infer(self, inputs: Tuple[np.ndarray, ...]) -> Any:
        found = self.inference.eval(dict(zip(self.symbols, inputs)))
        values = found if isinstance(found, dict) else {self.inference.outputs[0]: found}
        return {name: values[each] for name, each in zip(self.outputs, self.inference.outputs)}

    def _backward(self, batch: Tuple[np.ndarray, ...]) -> Arrays:
        loss, outputs = self.training.outputs[0], self.training.outputs
        gradients, values = self.training.grad(dict(zip(self.symbols, batch)), wrt=list(self.wrt.values()),
                                               outputs=outputs, grad_root=loss)
        if not isinstance(gradients, dict):
            gradients = dict.fromkeys(self.wrt.values(), gradients)
        found = {"gradient/" + name: gradients[self.wrt[name]] if name in self.wrt else np.zeros(spec.shape, np.float32)
                 for name, spec in self.graph.parameters.items()}
        found.update(zip(self.trained, (values[each] for each in outputs[1:])))
        return dict(found, loss=np.asarray(values[loss], np.float32).reshape(()))

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: a function has finished when it returns."""

    def read(self, handle: Arrays) -> Arrays:
        return {name: np.array(each) for name, each in handle.items()}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("CNTK has no probe {}".format(name))
        first, second = arrays.values()
        if name == "conv":  # the batch is an axis of its own
            image = cntk.input_variable(first.shape[1:])
            return {"result": PROBES[name](image, cntk.constant(second)).eval({image: first})}
        return {"result": np.array(PROBES[name](cntk.constant(first), cntk.constant(second)).eval())}

    def evidence(self) -> Dict[str, Any]:
        """The operations of an inference, by their count."""
        nodes = cntk.logging.graph.depth_first_search(self.inference, lambda each: hasattr(each, "op_name"))
        return {"layout": "channels_first", "compiled": False, "operations": dict(Counter(
            each.op_name for each in nodes))}
