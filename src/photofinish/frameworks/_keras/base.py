"""What is alike wherever a graph runs as a Keras model: where its arrays live, how they come and go, and Keras' own
conventions (velocities, variances). Needs no Keras: the framework's file hands it over."""

from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Differences, Given, Setup, Unsupported
from photofinish.frameworks._common.channels_last import feature_orders, to_canonical, to_native
from photofinish.frameworks._common.contestant import Contestant
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.frameworks._keras.shipped import Shipped
from photofinish.frameworks._keras.weights import Place, places
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Optimizer

SLOTS = {"velocity": "momentums", "moment1": "_momentums", "moment2": "_velocities"}  # where Keras keeps them
CONVENTIONS = {
    "adam": "epsilon after the bias correction (Keras adds it before): a subclass of keras.optimizers.Adam",
    "batch_norm": "the running variance takes n in training (Keras); converted when read or used"}
PROBES: Dict[str, Callable[..., Any]] = {  # as Keras' layers compute them
    "matmul": lambda ops, a, b: ops.matmul(a, b),
    "multiply": lambda ops, a, b: ops.multiply(a, b),
    "conv": lambda ops, image, kernel: ops.conv(image, kernel, padding="same"),
}


class KerasContestant(Contestant):
    """A contestant whose `model` is Keras'. A subclass knows how the model is written and optimised (`_make`), what a
    step is, and what the backend wants (`_tensor`, `_in_mode`, `_backward`)."""

    library: Any = None  # Keras
    backend = ""
    options = ("build",)
    model: Any = None  # Keras'
    updater: Any = None  # its optimizer, built

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.probes: Dict[str, Any] = {}
        self.shipped = Shipped(setup.options["build"], setup.names) if "build" in setup.options else None
        running = self.library.backend.backend()
        if running != self.backend:
            raise Unsupported("Keras runs on {} in this process, not on {}".format(running, self.backend))

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self.library.config.set_floatx(self.setup.precision)
        self.library.config.set_dtype_policy(self.setup.precision)
        self.library.utils.set_random_seed(self.setup.seed)
        self.graph = graph
        self.optimizer = optimizer
        self.updater = None
        self._make(self.shipped.expression(graph) if self.shipped else "")
        self.places = self.shipped.places(self.model, graph) if self.shipped else self._places()
        self.orders = feature_orders(graph)
        self.variances = SampleVariances(graph, batch, optimizer is not None)
        self.variances.terms = {name: term for name, term in self.variances.terms.items() if name in self.places}

    def _make(self, shipped: str) -> None:
        """Sets `model` and, if there is something to train, `updater`. `shipped` is the code of another package's
        model to stand in the place of the graph's, or nothing."""
        raise NotImplementedError

    def writer(self, framework: str, shipped: str) -> str:
        """What the source is kept under: another for each mode, and for another package's model."""
        return "_".join([framework, self.setup.mode] + ["shipped"] * bool(shipped))

    def _places(self) -> Dict[str, Place]:
        return places(self.graph, self.model)

    def _tensor(self, array: np.ndarray) -> Any:
        """On the device, an array that nobody else has."""
        return self.library.ops.convert_to_tensor(array)

    def _array(self, tensor: Any) -> np.ndarray:
        return np.array(self.library.ops.convert_to_numpy(tensor))

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of tensors as this mode runs it."""
        raise NotImplementedError

    def differences(self) -> Differences:
        return self.shipped.differences if self.shipped else []

    def _slots(self) -> Dict[str, Tuple[List[Any], float]]:
        """Slot -> Keras' variables for it, and the factor from canonical to Keras' values."""
        if self.optimizer is None or self.updater is None:
            return {}
        # Keras' velocity has the learning rate and the sign in it; without momentum it keeps none
        factor = -self.optimizer.learning_rate if isinstance(self.optimizer, SGD) else 1.0
        kept = {slot: getattr(self.updater, SLOTS[slot]) for slot in self.optimizer.slots}
        return {slot: (variables, factor) for slot, variables in kept.items() if variables}

    def _trainable(self) -> List[Tuple[str, Place, int]]:
        """Parameters, where they are, and the place of that variable in Keras' order: that of gradients and slots."""
        numbers = {variable.path: number for number, variable in enumerate(self.model.trainable_variables)}
        return [(name.split("/", 1)[1], place, numbers[place.variable.path]) for name, place in self.places.items()
                if name.startswith("parameter/")]

    def put(self, arrays: Given) -> None:
        arrays = self.shipped.weights or arrays if self.shipped else arrays
        for name, place in self.places.items():
            place.store(arrays[name], place.variable)
        for slot, (variables, factor) in self._slots().items():
            for name, place, number in self._trainable():
                given = arrays.get("{}/{}".format(slot, name))
                if given is None:
                    variables[number].assign(np.zeros(variables[number].shape, variables[number].dtype))
                else:
                    place.store(given if factor == 1.0 else given * factor, variables[number])
        step = int(arrays.get("step", 0))
        if self.updater is not None:
            self.updater.iterations.assign(step)
        self.variances.begin(arrays, step)
        self.settled = True  # the model itself holds the running variances of the graph's convention

    def _step(self) -> int:
        return self.variances.step if self.updater is None else int(self.updater.iterations.numpy())

    def _variances(self) -> Arrays:
        """The running variances whose convention differs, in the graph's."""
        found = {name: self.places[name].canonical(self.places[name].variable.numpy()) for name in self.variances.terms}
        return self.variances.canonical(found, self._step())

    def _settle(self) -> None:
        """Before inference that follows training."""
        variances = self._variances()
        for name, values in variances.items():
            self.places[name].store(values, self.places[name].variable)
        self.variances.begin(variances, self._step())
        self.settled = True

    def get(self) -> Arrays:
        return dict(self.each())

    def each(self) -> Iterator[Tuple[str, np.ndarray]]:
        variances = self._variances()
        for name, place in self.places.items():
            yield name, variances[name] if name in variances else place.canonical(place.variable.numpy())
        for slot, (variables, factor) in self._slots().items():
            for name, place, number in self._trainable():
                value = place.canonical(variables[number].numpy())
                if factor != 1.0:
                    value = (value / np.float64(factor)).astype(value.dtype)
                yield "{}/{}".format(slot, name), value
        yield "step", np.array(self._step(), np.int64)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Tensors in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(self._tensor(np.array(to_native(arrays[name], spec), self._dtype(arrays[name]), order="C"))
                     for name, spec in self.graph.inputs + self.graph.targets if name in arrays)

    def _dtype(self, array: np.ndarray) -> Any:
        return self.setup.precision if array.dtype.kind == "f" else array.dtype

    def read(self, handle: Any) -> Arrays:
        if not isinstance(handle, dict):
            return {"loss": self._array(handle)}
        return {"output/" + name: to_canonical(self._array(value), self.graph.spec(name), self.orders.get(name))
                for name, value in handle.items()}

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if not self.graph.losses:
            raise Unsupported("no gradients without a loss")
        kept = [(place.variable, place.variable.numpy()) for name, place in self.places.items()
                if name.startswith("state/")]  # a pass in training mode moves them, and is not a step
        loss, outputs, found = self._backward(batch)
        for variable, value in kept:
            variable.assign(value)
        arrays = self.read({name: outputs[name] for name in self.graph.outputs})
        arrays.update({"gradient/" + name: place.canonical(self._array(found[number]))
                       for name, place, number in self._trainable()})
        return dict(arrays, loss=self._array(loss))

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        """Of a pass in training mode: the loss, the outputs, and a gradient for each trainable variable."""
        raise NotImplementedError

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("{} has no probe {}".format(self.title, name))
        if name not in self.probes:
            operation, ops = PROBES[name], self.library.ops
            self.probes[name] = self._in_mode(lambda a, b: operation(ops, a, b))
        values = [np.asarray(each, self.setup.precision) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(2, 3, 1, 0)]
        result = self._array(self.probes[name](*(self._tensor(np.array(each, order="C")) for each in values)))
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else result}
