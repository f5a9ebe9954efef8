"""Keras 2 models in sessions of TensorFlow 1: tf.keras, or Keras itself. Imports neither: a driver hands both over."""

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Given, Unsupported
from photofinish.frameworks._common.channels_last import feature_orders
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.frameworks._keras.base import KerasContestant
from photofinish.frameworks._keras.session_source import session_source
from photofinish.frameworks._keras.variables import FusedVariances, Model, Updater, Variable
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Adam, Optimizer


class Held(Variable):
    """A variable whose value a session holds."""

    session: Any = None

    def numpy(self) -> np.ndarray:
        return np.asarray(self.session.run(self.variable))

    def assign(self, value: Any) -> None:
        self.variable.load(np.asarray(value, self.dtype), self.session)


class Steps:
    """Counts the steps of an optimizer that does not."""

    def __init__(self) -> None:
        self.count = 0

    def numpy(self) -> int:
        return self.count

    def assign(self, count: int) -> None:
        self.count = count


class SessionContestant(KerasContestant):
    """A subclass says `tf`, `library` (tf.keras, or Keras) and whether that is Keras' own."""

    tf: Any = None
    own_keras = False
    backend = "tensorflow"
    modes = ("graph", "keras")
    options = ()  # type: ignore[assignment]

    def facts(self) -> Dict[str, Any]:
        return {"version": self.library.__version__ if self.own_keras else self.tf.__version__,
                "tensorflow": self.tf.__version__, "keras": self.library.__version__, "numpy": np.__version__,
                "compiler": self.tf.__compiler_version__, "git": self.tf.__git_version__,
                "intra_op_threads": self.setup.threads if self.setup.regime == "matched" else "one per CPU",
                "adam": "epsilon after the bias correction (TensorFlow and Keras add it before)",
                "batch_norm": "of images, the running variance takes n - 1 in training; of vectors n; converted"}

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        tf, backend, matched = self.tf, self.library.backend, self.setup.regime == "matched"
        backend.clear_session()
        threads = {"intra_op_parallelism_threads": self.setup.threads,
                   "inter_op_parallelism_threads": self.setup.threads} if matched else {}
        self.session = tf.Session(config=tf.ConfigProto(**threads))
        backend.set_session(self.session)
        tf.set_random_seed(self.setup.seed)
        self.graph, self.optimizer, self.batch = graph, optimizer, batch
        self.updater = None
        self._make("")
        self.places = self._places()
        self.orders = feature_orders(graph)
        self.variances = self._running_variances()
        self.differentiated: Any = None

    def shown(self, variable: Any, trainable: bool = False) -> Variable:
        """As Keras 3 shows its own."""
        found = Held(variable, trainable)
        found.session = self.session
        return found

    def _running_variances(self) -> SampleVariances:
        return FusedVariances(self.graph, self.batch, self.optimizer is not None)

    def _make(self, shipped: str) -> None:
        source = session_source(self.graph, self.optimizer, self.setup.mode, self.own_keras)
        self.native = vars(execute(source, self.writer("session", shipped), self.graph))
        self.model = Model(self.native["model"], self.shown)
        if self.optimizer is None or not self.graph.losses:
            return
        if self.setup.mode == "keras":
            self.native["model"]._make_train_function()  # makes the slots
            self.updater = Updater(self.shown(self.native["model"].optimizer.iterations))
            self._start()
        else:
            own = getattr(self.native["optimizer"], "step", None)
            self.updater = Updater(Steps() if own is None else self.shown(own))

    def _start(self) -> None:
        """Gives their first values to variables that have none."""
        self.session.run(self.tf.global_variables_initializer())

    def _slots(self) -> Dict[str, Tuple[List[Any], float]]:
        if self.optimizer is None or self.updater is None:
            return {}
        native = self.native["model"]
        if self.setup.mode == "keras":
            kept = native.optimizer.weights[1:]
            count = len(native.trainable_weights)
            factor = -self.optimizer.learning_rate if isinstance(self.optimizer, SGD) else 1.0
            return {slot: ([self.shown(each) for each in kept[number * count:(number + 1) * count]], factor)
                    for number, slot in enumerate(self.optimizer.slots)}
        optimizer, found = self.native["optimizer"], {}
        names = {"velocity": "momentum", "moment1": "m", "moment2": "v"}
        factors = dict(zip(("moment1", "moment2"), optimizer.excess)) if isinstance(self.optimizer, Adam) else {}
        for slot in self.optimizer.slots:
            if names[slot] in optimizer.get_slot_names():
                found[slot] = ([self.shown(optimizer.get_slot(each, names[slot]))
                                for each in native.trainable_weights], factors.get(slot, 1.0))
        return found

    def put(self, arrays: Given) -> None:
        super().put(arrays)
        self.counted = getattr(self.updater, "iterations", None)

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if "train_step" not in self.native:
            raise Unsupported("no train_step without an optimizer and a loss")
        self.settled = False
        loss = self.native["train_step"](*batch)
        if isinstance(self.counted, Steps):
            self.counted.count += 1
        return loss

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        inputs = batch[:len(self.graph.inputs)]
        only_training = {name for node in self.graph.nodes if node.training_only for name in node.outputs}
        inferred = [name for name in self.graph.outputs if name not in only_training]
        return dict(zip(inferred, self.native["infer"](*inputs)))

    def _tensor(self, array: np.ndarray) -> Any:
        return np.ascontiguousarray(array)

    def _array(self, tensor: Any) -> np.ndarray:
        return np.array(tensor, np.float32)

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        native, names = self.native["model"], list(dict.fromkeys(
            self.graph.outputs + tuple(term.prediction for term in self.graph.losses)))
        if self.differentiated is None:
            loss = native.total_loss if self.setup.mode == "keras" else self.native["loss"]
            weights = native.trainable_weights
            found = [self.tf.zeros_like(weight) if each is None else self.tf.convert_to_tensor(each)
                     for each, weight in zip(self.tf.gradients(loss, weights), weights)]
            self.differentiated = self.session.make_callable(
                [loss, native.outputs, found], [*native.inputs, *self._labels(), self.library.backend.learning_phase()])
        count = len(self.graph.inputs)
        labels = batch[count:]
        if self.setup.mode == "keras":
            targets = dict(zip((name for name, _ in self.graph.targets), labels))
            terms = {term.prediction: term.target for term in self.graph.losses}
            judged = [terms[name] for name in names if name in terms]
            labels = tuple(np.asarray(targets[each], np.float32)[:, None] for each in judged)
            labels += tuple(np.ones(self.batch, np.float32) for _ in judged)
        loss, outputs, gradients = self.differentiated(*batch[:count], *labels, True)
        return loss, dict(zip(names, outputs)), gradients

    def _labels(self) -> List[Any]:
        """The placeholders behind the inputs."""
        native = self.native["model"]
        if self.setup.mode == "keras":
            return [each for each in (*native.targets, *native.sample_weights) if each is not None]  # of no loss: None
        return self.native["labels"]  # type: ignore[no-any-return]

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        operations = {"matmul": self.tf.matmul, "multiply": self.tf.multiply,
                      "conv": lambda image, kernel: self.tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME")}
        if name not in operations:
            raise Unsupported("TensorFlow has no probe {}".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(2, 3, 1, 0)]
        key = " ".join([name] + [str(each.shape) for each in values])
        if key not in self.probes:
            given = [self.tf.placeholder(self.tf.float32, each.shape) for each in values]
            self.probes[key] = self.session.make_callable(operations[name](*given), given)
        result = self._array(self.probes[key](*values))
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else result}

    def wait(self, handle: Any) -> None:
        """A session has finished when it returns."""

    def evidence(self) -> Dict[str, Any]:
        definition = self.session.graph.as_graph_def()
        operations = [node.op for node in definition.node]
        return {"layout": "channels_last", "compiled": False, "graph_nodes": len(operations),
                "fused": {name: operations.count(name) for name in sorted(set(operations)) if "Fused" in name}}
