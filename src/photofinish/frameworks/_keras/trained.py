"""A Keras model that Keras' own trainer runs, on any backend: train_on_batch and predict_on_batch.

`fit` and `predict` are not a mode here. They run the same compiled step as these, inside a loop over a data set with
callbacks: a call for each batch would time the loop's start and end, of which a user pays one per epoch.
"""

from typing import Any, Callable, Dict, Iterator, Optional, Tuple

import numpy as np

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._keras.base import CONVENTIONS, KerasContestant
from photofinish.frameworks._keras.compiled import MODES, compiled_source
from photofinish.frameworks._keras.weights import Place, places, undotted


def inside(function: Any, attribute: str) -> Iterator[Any]:
    """What a step of Keras' trainer wraps, however deep in closures, that has this attribute."""
    seen, wanted = set(), [function]
    while wanted:
        each = wanted.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if hasattr(each, attribute):
            yield each
        cells = [cell.cell_contents for cell in getattr(each, "__closure__", None) or ()]
        wanted += [found for found in cells + [getattr(each, "python_function", None)] if callable(found)]


class TrainedContestant(KerasContestant):
    """Keras with jit_compile on (jit) or off (nojit). What that means is the backend's: see the framework's file."""

    modes = tuple(MODES)

    def facts(self) -> Dict[str, Any]:
        facts = {"version": self.library.__version__, "backend": self.backend, "numpy": np.__version__,
                 "image_data_format": "channels_last", "jit_compile": self.setup.mode == "jit"}
        return dict(facts, **self._backend_facts(), **CONVENTIONS,
                    **(self.shipped.facts() if self.shipped else {}))

    def _backend_facts(self) -> Dict[str, Any]:
        raise NotImplementedError

    def _make(self, shipped: str) -> None:
        source = compiled_source(self.backend, self.graph, self.optimizer, MODES[self.setup.mode], shipped)
        self.native = vars(execute(source, self.writer("keras_" + self.backend, shipped), self.graph))
        self.model = self.native["model"]
        self.updater = self.model.optimizer
        if self.updater is not None:
            self.updater.build(self.model.trainable_variables)
        self.differentiated: Optional[Callable[..., Any]] = None

    def _places(self) -> Dict[str, Place]:
        return places(self.graph, self.model, undotted(self.graph))

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if "train_step" not in self.native:
            raise Unsupported("no train_step without an optimizer and a loss")
        self.settled = False
        return self.native["train_step"](*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        return self.native["infer"](*batch[:len(self.graph.inputs)])

    def _array(self, tensor: Any) -> np.ndarray:
        return np.array(tensor, self.setup.precision) if isinstance(tensor, float) else super()._array(tensor)

    def _split(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any]]:
        """The model's input and the label of each prediction, as train_on_batch takes them."""
        names = [name for name, _ in self.graph.inputs + self.graph.targets]
        tensors, count = dict(zip(names, batch)), len(self.graph.inputs)
        labels = {term.prediction: tensors[term.target] for term in self.graph.losses}
        return batch[0] if count == 1 else list(batch[:count]), labels

    def _loss(self, outputs: Dict[str, Any], labels: Dict[str, Any]) -> Any:
        """What compile() was told to minimise."""
        return sum(term.weight * self.model.loss[term.prediction](labels[term.prediction], outputs[term.prediction])
                   for term in self.graph.losses)

    def evidence(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"layout": "channels_last", "compiled": self.model.jit_compile}
        return dict(found, **{name: self._seen(step) for name, step in self._steps().items()})

    def _steps(self) -> Dict[str, Any]:
        """What Keras' trainer has made of the steps that have run."""
        steps = {"train_step": self.model.train_function,
                 "infer": self.native.get("inference", self.model).predict_function}
        return {name: step for name, step in steps.items() if step is not None}

    def _seen(self, step: Any) -> Dict[str, Any]:
        """What became of a step that has run."""
        raise NotImplementedError
