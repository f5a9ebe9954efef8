"""Keras 2 models on a backend other than TensorFlow, by Keras' own trainer. Imports neither: a framework's file hands
both over."""

from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._common import denormals
from photofinish.frameworks._common.channels_last import feature_orders
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.frameworks._keras.any_backend.source import numbered
from photofinish.frameworks._keras.base import KerasContestant
from photofinish.frameworks._keras.variables import Model, Updater, Variable
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Optimizer


class Held(Variable):
    """A variable whose value the backend holds."""

    def __init__(self, backend: Any, variable: Any, path: str = "", trainable: bool = False) -> None:
        self.backend, self.variable, self.trainable = backend, variable, trainable
        self.path = path.replace("depthwise_kernel", "kernel")
        self.shape, self.dtype = tuple(backend.int_shape(variable) or ()), np.float32

    def numpy(self) -> np.ndarray:
        return np.asarray(self.backend.get_value(self.variable))

    def assign(self, value: Any) -> None:
        self.backend.set_value(self.variable, np.asarray(value, self.dtype))


class Steps:
    """The step count of an Adam that keeps its corrections beside it."""

    def __init__(self, iterations: Held, corrections: List[Tuple[float, Held]]) -> None:
        self.iterations, self.corrections = iterations, corrections

    def numpy(self) -> np.ndarray:
        return self.iterations.numpy()

    def assign(self, count: int) -> None:
        self.iterations.assign(count)
        for beta, held in self.corrections:
            held.assign(1 - beta ** count)


class BackendContestant(KerasContestant):
    """A subclass says `library` (Keras), `backend` and `source`, and how a loss is differentiated."""

    modes = ("keras",)
    options = ()  # type: ignore[assignment]
    source: Any = None  # the module that writes graphs for this backend

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.flushed = setup.regime == "matched" and denormals.flush()  # before a thread is made, which inherits it
        self.library.backend.set_image_data_format("channels_last")
        self.library.backend.set_floatx("float32")

    def facts(self) -> Dict[str, Any]:
        return {"version": self.library.__version__, "numpy": np.__version__,
                "denormals": "flushed through the C library" if self.flushed else "as they come",
                "adam": "epsilon after the bias correction (Keras adds it before), whose terms are kept",
                "loss": "of logits, in keras.backend (Keras' own cuts probabilities off at 1e-7)",
                "batch_norm": "the running variance takes n in training; converted when read or used"}

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        np.random.seed(self.setup.seed)  # by which Keras draws the seeds of its random layers
        self.graph, self.optimizer, self.batch = graph, optimizer, batch
        self.updater = None
        self._make("")
        self.places = self._places()
        self.orders = feature_orders(graph)
        self.variances = SampleVariances(graph, batch, optimizer is not None)
        self.differentiated: Any = None

    def _make(self, shipped: str) -> None:
        text = self.source.native_source(self.graph, self.optimizer)
        self.native = vars(execute(text, self.writer(self.backend, shipped), self.graph))
        model = self.native["model"]
        paths = dict(_paths(model))
        self.model = Model(model, lambda each, trainable=False: Held(
            self.library.backend, each, paths[id(each)], trainable))
        if self.optimizer is None or not self.graph.losses:
            return
        model._make_train_function()  # makes the slots
        native, steps = model.optimizer, Held(self.library.backend, model.optimizer.iterations)
        held = [Held(self.library.backend, each) for each in getattr(native, "corrections", ())]
        self.updater = Updater(Steps(steps, list(zip(native.betas, held))) if held else steps)

    def _slots(self) -> Dict[str, Tuple[List[Any], float]]:
        if self.optimizer is None or self.updater is None:
            return {}
        native = self.native["model"]
        kept, count = native.optimizer.weights[1:], len(native.trainable_weights)
        factor = -self.optimizer.learning_rate if isinstance(self.optimizer, SGD) else 1.0
        return {slot: ([Held(self.library.backend, each) for each in kept[number * count:(number + 1) * count]], factor)
                for number, slot in enumerate(self.optimizer.slots)}

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if "train_step" not in self.native:
            raise Unsupported("no train_step without an optimizer and a loss")
        self.settled = False
        return self.native["train_step"](*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        only_training = {name for node in self.graph.nodes if node.training_only for name in node.outputs}
        inferred = [name for name in self.graph.outputs if name not in only_training]
        return dict(zip(inferred, self.native["infer"](*batch[:len(self.graph.inputs)])))

    def _tensor(self, array: np.ndarray) -> Any:
        return np.ascontiguousarray(array)

    def _array(self, tensor: Any) -> np.ndarray:
        return np.array(tensor, np.float32)

    def _fed(self, batch: Tuple[Any, ...]) -> Tuple[List[Any], List[Any]]:
        """The placeholders of a step in training mode, and what goes there."""
        native, count = self.native["model"], len(self.graph.inputs)
        targets = dict(zip((name for name, _ in self.graph.targets), batch[count:]))
        terms = {term.prediction: term for term in self.graph.losses}
        judged = [terms[name] for name in self._wanted() if name in terms]
        labels = [targets[term.target][..., None] if numbered(term) else targets[term.target] for term in judged]
        weights = [np.ones(self.batch, np.float32) for _ in judged]
        places = [*native._feed_inputs, *native._feed_targets, *native._feed_sample_weights]
        return places, [np.asarray(each, np.float32) for each in [*batch[:count], *labels, *weights]]

    def _wanted(self) -> List[str]:
        """What the model gives in training."""
        return list(dict.fromkeys(self.graph.outputs + tuple(term.prediction for term in self.graph.losses)))

    def wait(self, handle: Any) -> None:
        """A function has finished when it returns."""


def _paths(model: Any) -> Iterator[Tuple[int, str]]:
    """The identity of each variable, and what Keras 3 would call its path."""
    for layer in model.layers:
        inside = [layer.forward_layer, layer.backward_layer] if hasattr(layer, "backward_layer") else [layer]
        for part in inside:
            for variable in part.weights:
                scopes = [layer.name] + ([part.name] if part is not layer else [])
                yield id(variable), "/".join([*scopes, variable.name.rpartition("/")[2]])
