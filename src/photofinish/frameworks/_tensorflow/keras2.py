"""TensorFlow 2 while its Keras was Keras 2: a tf.keras model and a step of one's own, in a mode of modes/."""

import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import on_tensorflow
from photofinish.frameworks._common.channels_last import feature_orders
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.modes import find
from photofinish.frameworks._keras.base import KerasContestant
from photofinish.frameworks._keras.keras2_source import keras2_source
from photofinish.frameworks._keras.variables import FusedVariances, Model, Updater, Variable
from photofinish.graph import Graph
from photofinish.optimizers import SGD, Optimizer

__all__ = ["Contestant", "native_source"]

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

native_source = keras2_source
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": tf.matmul, "multiply": tf.multiply,
    "conv": lambda image, kernel: tf.nn.conv2d(image, kernel, 1, "SAME")}
SLOTS = {"velocity": "momentum", "moment1": "m", "moment2": "v"}


def fill_in() -> None:
    """What came with 2.3 and 2.4 and is asked for: before, there was no TF32 to switch off."""
    for room, name, stand_in in ((tf.config.experimental, "enable_tensor_float_32_execution", lambda on: None),
                                 (tf.config.experimental, "tensor_float_32_execution_enabled", lambda: False),
                                 (tf.sysconfig, "get_build_info", dict)):
        if not hasattr(room, name):
            setattr(room, name, stand_in)


def keras_version() -> str:
    """Which tf.keras itself no longer tells since 2.13."""
    if hasattr(tf.keras, "__version__"):
        return str(tf.keras.__version__)
    import keras
    return str(keras.__version__)


class Eager(Variable):
    """A variable that holds its value itself."""

    def numpy(self) -> np.ndarray:
        return np.asarray(self.variable.numpy())

    def assign(self, value: Any) -> None:
        self.variable.assign(np.asarray(value, self.dtype))


class Contestant(KerasContestant):
    """Runs what is written as the mode says."""

    library = tf.keras
    title = "TensorFlow"
    backend = "tensorflow"
    modes = ("eager", "graph", "xla")
    options = ()  # type: ignore[assignment]
    source = staticmethod(keras2_source)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        fill_in()
        self.mode = find("tensorflow", setup.mode)(tf, setup)
        on_tensorflow.prepare(tf, setup)

    def facts(self) -> Dict[str, Any]:
        return dict({"version": tf.__version__, "keras": keras_version(), "numpy": np.__version__},
                    **on_tensorflow.facts(tf), xla=self.mode.compiled,
                    adam="epsilon after the bias correction (Keras adds it before)",
                    batch_norm="of images, the running variance takes n - 1 in training; of vectors n; converted")

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        tf.keras.backend.clear_session()
        tf.random.set_seed(self.setup.seed)
        self.graph, self.optimizer = graph, optimizer
        self.updater = None
        self._make("")
        self.places = self._places()
        self.orders = feature_orders(graph)
        self.variances = FusedVariances(graph, batch, optimizer is not None)

    def _make(self, shipped: str) -> None:
        source = self.source(self.graph, self.optimizer, self.mode.written)
        self.native = vars(execute(source, self.writer("keras2", shipped), self.graph))
        self.model = Model(self.native["model"], Eager)
        self.bound: Dict[str, Callable[..., Any]] = {}
        if "optimizer" in self.native:
            optimizer, variables = self.native["optimizer"], self.native["model"].trainable_variables
            self.updater = Updater(Eager(optimizer.iterations))
            if hasattr(optimizer, "_create_all_weights"):
                optimizer._create_all_weights(variables)
            else:  # before 2.3
                optimizer._create_hypers()
                optimizer._create_slots(variables)

    def _slots(self) -> Dict[str, Tuple[List[Any], float]]:
        if self.optimizer is None or self.updater is None or getattr(self.optimizer, "momentum", 1) == 0:
            return {}
        native, factor = self.native["optimizer"], 1.0
        if isinstance(self.optimizer, SGD):
            factor = -self.optimizer.learning_rate
        return {slot: ([Eager(native.get_slot(each.variable, SLOTS[slot])) for each in self.model.trainable_variables],
                       factor) for slot in self.optimizer.slots}

    def _tensor(self, array: np.ndarray) -> Any:
        return tf.convert_to_tensor(array)

    def _array(self, tensor: Any) -> np.ndarray:
        return np.array(tensor.numpy())

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.mode.function(function)  # type: ignore[no-any-return]

    def _bind(self, name: str, arguments: Tuple[Any, ...]) -> Callable[..., Any]:
        if name not in self.native:
            raise Unsupported("no {} without an optimizer and a loss".format(name))
        bound: Callable[..., Any] = self.mode.bind(self, name, self.mode.specs(arguments))
        self.bound[name] = bound
        return bound

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        self.settled = False
        return (self.bound.get("train_step") or self._bind("train_step", batch))(*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        inputs = batch[:len(self.graph.inputs)]
        return (self.bound.get("infer") or self._bind("infer", inputs))(*inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        native, count = self.native["model"], len(self.graph.inputs)
        names = list(dict.fromkeys(self.graph.outputs + tuple(term.prediction for term in self.graph.losses)))

        def gradients(x: Any, labels: Any) -> Any:
            with tf.GradientTape() as tape:
                found = native(x, training=True)
                outputs = dict(zip(names, found if len(names) > 1 else [found]))
                loss = self.native["loss_of"](outputs, *labels)
            return loss, outputs, [tf.convert_to_tensor(each) for each in tape.gradient(
                loss, native.trainable_variables, unconnected_gradients="zero")]

        if "gradients" not in self.native:
            self.native["gradients"] = self._in_mode(gradients)
        return self.native["gradients"](  # type: ignore[no-any-return]
            batch[0] if count == 1 else list(batch[:count]), batch[count:])

    def wait(self, handle: Any) -> None:
        """As with today's: a look at where a value lies holds, and copies none of it."""
        for tensor in handle.values() if isinstance(handle, dict) else (handle,):
            memoryview(tensor).release()

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("TensorFlow has no probe {}".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(2, 3, 1, 0)]
        if name not in self.probes:
            self.probes[name] = self._in_mode(PROBES[name])
        result = self._array(self.probes[name](*map(tf.convert_to_tensor, values)))
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else result}

    def evidence(self) -> Dict[str, Any]:
        return {"layout": "channels_last", "compiled": self.mode.compiled, "bound": sorted(self.bound)}
