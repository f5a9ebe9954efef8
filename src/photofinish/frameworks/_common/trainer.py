"""What every framework has in common that trains the source a graph is written out as; its own file says which arrays
are the graph's, and what a step is."""

from typing import Any, Dict, Iterable, Iterator, Optional, Tuple, Type

import numpy as np

from photofinish.frameworks import Arrays, Given, Unsupported
from photofinish.frameworks._common.contestant import Contestant
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

Slot = Tuple[str, str, Any, float]  # slot, parameter, the framework's array, the framework's values over canonical ones


class Trainer(Contestant):
    """Its arrays, its count of steps, and when the running variances are in the graph's convention: `settled` while the
    model itself holds those.

    `handles` has the framework's array for each "parameter/<name>" and "state/<name>"; what a handle is, `_read` and
    `_write` know.
    """

    convention: Type[Any] = SampleVariances  # which running variances the framework keeps otherwise than the graph
    trains = True  # False where the mode runs inference only

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self.graph, self.batch = graph, batch
        self.rule: Any = optimizer if self.trains else None
        self.variances = self.convention(graph, batch, trains=self.rule is not None)
        self.steps, self.settled = 0, True
        self.handles: Dict[str, Any] = self._make(graph, self.rule)
        known = self.variances.terms.items()
        self.variances.terms = {name: term for name, term in known if name in self.handles}

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        """The model, and what trains it; returns `handles`. Raises Unsupported, naming the layer."""
        raise NotImplementedError

    def _read(self, name: str, handle: Any) -> np.ndarray:
        """What an array of the framework's holds, in the canonical layout of the parameter or state of that name."""
        raise NotImplementedError

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        """Puts a canonical array into one of the framework's, in place, so that what was compiled stays valid."""
        raise NotImplementedError

    def _slots(self) -> Iterator[Slot]:
        """What the optimizer keeps for each parameter, made where it is not there yet. Some keep nothing for SGD
        without momentum."""
        raise NotImplementedError

    def _count(self) -> None:
        """Makes `steps` the optimizer's own count."""

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        """An array of a batch on the device, in the native layout."""
        raise NotImplementedError

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        """A step, which is already counted."""
        raise NotImplementedError

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        """The outputs in inference mode."""
        raise NotImplementedError

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        """What `gradients` returns; it may move the model's state."""
        raise NotImplementedError

    def put(self, arrays: Given) -> None:
        self.steps = int(arrays.get("step", 0))
        loaded = {name: arrays[name] for name in self.handles}
        self.shapes = {name: np.shape(array) for name, array in loaded.items()}
        self._store(loaded)
        del loaded
        self._store_slots(arrays)
        self._count()
        self._begin(arrays)

    def _store(self, arrays: Arrays) -> None:
        for name, array in arrays.items():
            self._write(name, self.handles[name], array)

    def _store_slots(self, arrays: Given) -> None:
        """Zeros where nothing is given."""
        for slot, name, handle, factor in self._slots():
            key, given = "parameter/" + name, arrays.get("{}/{}".format(slot, name))
            if given is None:
                given = np.zeros(self.shapes[key], np.float32)
            self._write(key, handle, given if factor == 1.0 else given * factor)

    def _begin(self, arrays: Given) -> None:
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def get(self) -> Arrays:
        if not self.settled:
            self._settle()
        return dict(self._values(self.handles), step=np.array(self.steps, np.int64), **self._slot_values())

    def _values(self, names: Iterable[str]) -> Arrays:
        return {name: self._read(name, self.handles[name]) for name in names}

    def _slot_values(self) -> Arrays:
        found: Arrays = {}
        for slot, name, handle, factor in self._slots():
            value = self._read("parameter/" + name, handle)
            found["{}/{}".format(slot, name)] = (
                value if factor == 1.0 else (value / np.float64(factor)).astype(value.dtype))
        return found

    def _settle(self) -> None:
        """After training: the model itself gets the variances of the graph's convention, so that it goes on from what
        is read of it."""
        found = self.variances.canonical(self._values(self.variances.terms), self.steps)
        self._store(found)
        self._begin(found)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Arrays in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(self._fed(arrays[name], spec) for name, spec in self.graph.inputs + self.graph.targets
                     if name in arrays)

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if self.rule is None or not self.graph.losses:
            raise self._refusal("training", " and an optimizer")
        self.steps += 1
        self.settled = False
        return self._train(batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        return self._infer(batch[:len(self.graph.inputs)])

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if not self.trains or not self.graph.losses:
            raise self._refusal("gradients")
        before = self._values(name for name in self.handles if name.startswith("state/"))
        found = self._backward(batch)
        self._store(before)  # a pass in training mode moves statistics, and is not a step
        return found

    def _refusal(self, what: str, besides: str = "") -> Unsupported:
        return Unsupported("no {} without a loss{}".format(what, besides) if self.trains else
                           "{}:{} runs inference only".format(self.title, self.setup.mode))

    def _named(self, outputs: Any) -> Dict[str, Any]:
        """The outputs that there are: some exist in training only."""
        values = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        return {"output/" + name: value for name, value in zip(self.graph.outputs, values) if value is not None}
