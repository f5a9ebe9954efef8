# /// script
# requires-python = ">=3.10"
# dependencies = ["tensorflow-cpu==2.21.0", "numpy"]
# [tool.photofinish]
# title = "TensorFlow"
# modes = ["eager", "graph", "xla"]
# devices = ["cpu", "cuda"]
# options = { build = [] }
# builds = { "keras.applications" = "keras" }
# ///
"""TensorFlow as its users have it: a Keras 3 model and a training step of their own, in three modes.

The model and the step are the code that _keras/ prints; here it is executed and fed.
"""

import linecache
import os
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish import frameworks, layers
from photofinish.frameworks import Arrays, Differences, Setup, Unsupported
from photofinish.frameworks._keras.shipped import Shipped
from photofinish.frameworks._keras.source import MODES, feature_orders, native_source
from photofinish.frameworks._keras.use import native_axes
from photofinish.frameworks._keras.weights import Place, places
from photofinish.graph import Graph, Node
from photofinish.layers import Spec
from photofinish.optimizers import SGD, Optimizer

__all__ = ["Contestant", "native_source"]

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

PROBES: Dict[str, Callable[..., Any]] = {  # as Keras' layers compute them
    "matmul": lambda a, b: keras.ops.matmul(a, b),
    "multiply": lambda a, b: keras.ops.multiply(a, b),
    "conv": lambda image, kernel: keras.ops.conv(image, kernel, padding="same"),
}
SLOTS = {"velocity": "momentums", "moment1": "_momentums", "moment2": "_velocities"}  # where Keras keeps them


def _positions(graph: Graph, node: Node) -> int:
    """How many values of each channel one sample brings to a node."""
    spec = graph.spec(node.inputs[0])
    return int(np.prod(spec.shape)) // spec.size("C")


def _specs(arguments: Any) -> List[Any]:
    """What tf.function tells traces apart by, without names."""
    return [tf.TensorSpec(each.shape, each.dtype) for each in arguments]


def _once(what: str, change: Callable[[], None]) -> None:
    """TensorFlow takes settings of the process before it starts only; the same again is fine."""
    try:
        change()
    except RuntimeError:
        raise Unsupported("TensorFlow already runs here with other {}: start a new process".format(what)) from None


def _execute(source: str, name: str) -> Dict[str, Any]:
    """Executes generated code so that tracebacks show its lines."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: Dict[str, Any] = {"__name__": name}
    exec(compile(source, name, "exec"), namespace)
    return namespace


class Contestant(frameworks.Contestant):
    """Runs a Keras model in plain Python (eager), as a tf.function (graph) or compiled by XLA (xla)."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.probes: Dict[str, Any] = {}
        self.bound: Dict[str, Callable[..., Any]] = {}
        if setup.mode not in MODES:
            raise Unsupported("TensorFlow has no mode {}: {}".format(setup.mode, ", ".join(MODES)))
        options = dict(setup.options)
        self.shipped = Shipped(options.pop("build"), setup.names) if "build" in options else None
        if options:
            raise Unsupported("TensorFlow has no option {}".format(", ".join(options)))
        if setup.precision not in ("float32", "float64"):
            raise Unsupported("no precision {} here".format(setup.precision))
        if keras.backend.backend() != "tensorflow":
            raise Unsupported("Keras runs on {} in this process".format(keras.backend.backend()))
        self._choose_device()
        if setup.regime == "matched":
            threads = tf.config.threading
            _once("threads", lambda: threads.set_intra_op_parallelism_threads(setup.threads))
            _once("threads", lambda: threads.set_inter_op_parallelism_threads(setup.threads))
            tf.config.experimental.enable_tensor_float_32_execution(False)

    def _choose_device(self) -> None:
        cards = tf.config.list_physical_devices("GPU")
        kind, _, number = self.setup.device.partition(":")
        if kind == "cuda":
            if int(number or 0) >= len(cards):
                raise Unsupported("TensorFlow sees {} GPUs (tensorflow-cpu never sees any)".format(len(cards)))
            card = cards[int(number or 0)]
            _once("GPU memory settings", lambda: tf.config.experimental.set_memory_growth(card, True))
            _once("visible devices", lambda: tf.config.set_visible_devices(card, "GPU"))
        elif self.setup.device != "cpu":
            raise Unsupported("TensorFlow has no device {} here".format(self.setup.device))
        elif cards:
            _once("visible devices", lambda: tf.config.set_visible_devices([], "GPU"))

    def facts(self) -> Dict[str, Any]:
        threads, build = tf.config.threading, tf.sysconfig.get_build_info()
        facts = {
            "version": tf.__version__, "keras": keras.__version__, "numpy": np.__version__,
            "device": [device.name for device in tf.config.list_logical_devices()][-1],
            "intra_op_threads": threads.get_intra_op_parallelism_threads() or "one per CPU",
            "inter_op_threads": threads.get_inter_op_parallelism_threads() or "one per CPU",
            "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
            "tensor_float_32": tf.config.experimental.tensor_float_32_execution_enabled(),
            "xla": self.setup.mode == "xla", "xla_flags": os.environ.get("XLA_FLAGS", ""),
            "cuda": build.get("cuda_version"), "cudnn": build.get("cudnn_version"),
            "adam": "epsilon after the bias correction (Keras adds it before): a subclass of keras.optimizers.Adam",
            "batch_norm": "the running variance takes n in training (Keras); converted when read or used",
        }
        return dict(facts, **(self.shipped.facts() if self.shipped else {}))

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        keras.config.set_floatx(self.setup.precision)
        keras.config.set_dtype_policy(self.setup.precision)
        keras.utils.set_random_seed(self.setup.seed)
        self.graph = graph
        self.optimizer = optimizer
        shipped = self.shipped.expression(graph) if self.shipped else ""
        self.native = _execute(native_source(graph, optimizer, self.setup.mode, shipped),
                               "<keras {}{} {}>".format(self.setup.mode, " shipped" if shipped else "",
                                                        graph.digest[:12]))
        self.model = self.native["model"]
        self.updater: Any = self.native.get("optimizer")
        if self.setup.precision == "float64" and self.updater is not None and isinstance(optimizer, SGD):
            self.updater.momentum = np.float64(optimizer.momentum)  # tf.cast would round a Python float to float32
        self.places = self.shipped.places(self.model, graph) if self.shipped else places(graph, self.model)
        self.orders = feature_orders(graph)
        self.sampled = {  # running variances that Keras keeps otherwise: their momentum, and values in a batch
            "state/{}.running_variance".format(node.name): (node.layer.momentum, batch * _positions(graph, node))
            for node in graph.nodes
            if isinstance(node.layer, layers.BatchNorm) and node.layer.running_variance == "sample"
            and "state/{}.running_variance".format(node.name) in self.places}
        single = [name for name, (_, count) in self.sampled.items() if count == 1]
        if single and optimizer is not None:
            raise Unsupported("{}: one value has no sample variance".format(single[0]))
        self.bound = {}

    def differences(self) -> Differences:
        return self.shipped.differences if self.shipped else []

    def _compiled(self, function: Callable[..., Any]) -> Any:
        options = MODES[self.setup.mode]
        return function if options is None else tf.function(function, **options)

    def _bind(self, name: str, arguments: Tuple[Any, ...]) -> Callable[..., Any]:
        """The traced function for these arguments, looked up once: no step pays for a search of traces."""
        if name not in self.native:
            raise Unsupported("no {} without an optimizer and a loss".format(name))
        function: Callable[..., Any] = self.native[name]
        if self.setup.mode != "eager":
            function = self.native[name].get_concrete_function(*_specs(arguments))
        self.bound[name] = function
        return function

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

    def put(self, arrays: Arrays) -> None:
        arrays = self.shipped.weights or arrays if self.shipped else arrays
        for name, place in self.places.items():
            place.store(arrays[name], place.variable)
        for slot, (variables, factor) in self._slots().items():
            for name, place, number in self._trainable():
                given = arrays.get("{}/{}".format(slot, name))
                if given is None:
                    variables[number].assign(tf.zeros_like(variables[number]))
                else:
                    place.store(given * factor, variables[number])
        if self.updater is not None:
            self.updater.iterations.assign(int(arrays.get("step", 0)))
        self._begin({name: arrays[name] for name in self.sampled}, int(arrays.get("step", 0)))

    def _begin(self, variances: Arrays, step: int) -> None:
        """Remembers which running variances, in the graph's convention, Keras' own updates start from."""
        self.first_step = step
        self.first_variance = {name: np.array(values, np.float64) for name, values in variances.items()}
        self.settled = True

    def _step(self) -> int:
        return self.first_step if self.updater is None else int(self.updater.iterations.numpy())

    def _variances(self) -> Arrays:
        """Running variances in the graph's convention. What is left of those that `_begin` saw is as it was; the
        batches' share, which Keras divided by n, is divided by n - 1."""
        found, steps = {}, self._step() - self.first_step
        for name, (momentum, count) in self.sampled.items():
            value = self.places[name].variable.numpy()
            if steps:
                rest = momentum ** steps * self.first_variance[name]
                canonical = rest + (self.places[name].canonical(value) - rest) * (count / (count - 1.0))
                found[name] = canonical.astype(value.dtype)
            else:
                found[name] = self.places[name].canonical(value)
        return found

    def _settle(self) -> None:
        """Before inference that follows training: the model itself gets the variances of the graph's convention."""
        variances = self._variances()
        for name, values in variances.items():
            self.places[name].store(values, self.places[name].variable)
        self._begin(variances, self._step())

    def get(self) -> Arrays:
        arrays = {name: place.canonical(place.variable.numpy()) for name, place in self.places.items()}
        for slot, (variables, factor) in self._slots().items():
            for name, place, number in self._trainable():
                value = place.canonical(variables[number].numpy())
                arrays["{}/{}".format(slot, name)] = (value / np.float64(factor)).astype(value.dtype)
        arrays.update(self._variances())
        return dict(arrays, step=np.array(self._step(), np.int64))

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Tensors in the order of the step's arguments: inputs, then the targets that are there."""
        return tuple(self._to_device(arrays[name], spec) for name, spec in self.graph.inputs + self.graph.targets
                     if name in arrays)

    def _to_device(self, array: np.ndarray, spec: Spec) -> Any:
        axes = [0] + [1 + spec.axes.index(axis) for axis in native_axes(spec.axes)]
        dtype = self.setup.precision if array.dtype.kind == "f" else array.dtype
        return tf.constant(np.array(array.transpose(axes), dtype, order="C"))

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        self.settled = False
        return (self.bound.get("train_step") or self._bind("train_step", batch))(*batch)

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        inputs = batch[:len(self.graph.inputs)]
        return (self.bound.get("infer") or self._bind("infer", inputs))(*inputs)

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if "loss_of" not in self.native:
            raise Unsupported("no gradients without a loss")
        count, model = len(self.graph.inputs), self.model

        def gradients(*tensors: Any) -> Any:
            with tf.GradientTape() as tape:
                outputs = model(tensors[0] if count == 1 else list(tensors[:count]), training=True)
                loss = self.native["loss_of"](outputs, *tensors[count:])
            values = [variable.value for variable in model.trainable_variables]
            found = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)
            return loss, outputs, [tf.convert_to_tensor(each) for each in found]

        if "gradients" not in self.native:
            self.native["gradients"] = self._compiled(gradients)
        kept = [(place.variable, place.variable.numpy()) for name, place in self.places.items()
                if name.startswith("state/")]  # a pass in training mode moves them, and is not a step
        loss, outputs, found = self.native["gradients"](*batch)
        for variable, value in kept:
            variable.assign(value)
        arrays = self.read({name: outputs[name] for name in self.graph.outputs})
        arrays.update({"gradient/" + name: place.canonical(found[number].numpy())
                       for name, place, number in self._trainable()})
        return dict(arrays, loss=loss.numpy())

    def wait(self, handle: Any) -> None:
        """On a CPU TensorFlow has finished when it returns, unless it was told to be asynchronous; reading a
        value out holds in any case and costs a microsecond. On a GPU the stream is waited for: the loss is
        there before the updates are."""
        if self.setup.device != "cpu":
            tf.test.experimental.sync_devices()
        else:
            for tensor in handle.values() if isinstance(handle, dict) else (handle,):
                tensor.numpy()

    def read(self, handle: Any) -> Arrays:
        if not isinstance(handle, dict):
            return {"loss": handle.numpy()}
        return {"output/" + name: self._canonical(name, value.numpy()) for name, value in handle.items()}

    def _canonical(self, tensor: str, array: np.ndarray) -> np.ndarray:
        if tensor in self.orders:
            return array.take(np.argsort(self.orders[tensor]), 1)
        axes = self.graph.spec(tensor).axes
        native = native_axes(axes)
        return np.ascontiguousarray(array.transpose([0] + [1 + native.index(axis) for axis in axes]))

    def device_memory(self) -> Optional[Dict[str, int]]:
        if self.setup.device == "cpu":
            return None
        found = tf.config.experimental.get_memory_info("GPU:0")
        return {"now": found["current"], "peak": found["peak"]}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("TensorFlow has no probe {}".format(name))
        if name not in self.probes:
            self.probes[name] = self._compiled(PROBES[name])
        values = [np.asarray(each, self.setup.precision) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(2, 3, 1, 0)]
        result = self.probes[name](*(tf.constant(np.ascontiguousarray(each)) for each in values)).numpy()
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else result}

    def evidence(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"layout": "channels_last", "compiled": self.setup.mode == "xla"}
        return dict(found, **{name: self._seen(name, function) for name, function in self.bound.items()})

    def _seen(self, name: str, traced: Any) -> Dict[str, Any]:
        """Of a function that has run: how often it was traced, and what became of it."""
        if self.setup.mode == "eager":
            return {"traces": 0}
        function = self.native[name]
        arguments = _specs(traced.structured_input_signature[0])
        found = {"traces": function.experimental_get_tracing_count(),
                 "graph_nodes": len(traced.graph.as_graph_def().node)}
        if self.setup.mode == "graph":
            return dict(found, kernels=self._kernels(function.python_function, arguments))
        compiled = function.experimental_get_compiler_ir(*arguments)(stage="optimized_hlo")
        return dict(found, fused_kernels=compiled.count(" fusion("), library_calls=compiled.count(" custom-call("))

    def _kernels(self, function: Callable[..., Any], arguments: Any) -> Dict[str, int]:
        """The fused and oneDNN operations of a graph after TensorFlow's rewrites, with how many there are: seen
        by running a fresh trace on zeros, whose effects are undone."""
        from tensorflow.python.eager import context  # the rewritten graph has no public door
        variables = self.model.variables + (self.updater.variables if self.updater is not None else [])
        before = [variable.numpy() for variable in variables]
        context.enable_graph_collection()
        try:
            tf.function(function)(*(tf.zeros(each.shape, each.dtype) for each in arguments))
            metadata = context.export_run_metadata()
        finally:
            context.disable_graph_collection()
            for variable, value in zip(variables, before):
                variable.assign(value)
        operations = [node.op for function in metadata.function_graphs for part in function.partition_graphs
                      for node in part.node]
        return {name: operations.count(name) for name in sorted(set(operations)) if "Mkl" in name or "Fused" in name}
