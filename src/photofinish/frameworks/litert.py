# /// script
# requires-python = ">=3.10"
# dependencies = ["ai-edge-litert==2.3.0", "tensorflow-cpu==2.21.0", "numpy"]
# [tool.photofinish]
# title = "LiteRT"
# modes = ["default"]
# tasks = ["infer"]
# module = "ai_edge_litert"
# download = "360 MB"
# disk = "1.6 GB"
# devices = ["cpu"]
# options = {}
# [tool.photofinish.environment]
# KERAS_BACKEND = "tensorflow"
# [tool.photofinish.lines]
# threads = ["interpreter = Interpreter(model_path, num_threads={value})"]
# "mode=default" = []
# ///
"""LiteRT (once TensorFlow Lite): the Keras model that _keras/ prints, converted by TensorFlow to a .tflite file of
LiteRT's own float32 operators, and run by LiteRT's interpreter with XNNPACK.

TensorFlow is imported when the model is built and stays in the process: that phase and memory are those of both.
"""

import os
from collections import Counter
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import ai_edge_litert
import numpy as np
from ai_edge_litert.interpreter import Interpreter

from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks._common import on_tensorflow
from photofinish.frameworks._common.channels_last import feature_orders, to_canonical, to_native
from photofinish.frameworks._common.engine import Engine
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._keras import source
from photofinish.frameworks._keras.weights import places
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


class Convertible(NamedTuple):
    """A traced TensorFlow function of "input0", "input1" ... to "output0" ..., and what has its variables."""

    traced: Any
    owner: Any


class Session(NamedTuple):
    """An interpreter with its memory allocated, and the numbers of the tensors that go in and come out, in order."""

    interpreter: Any
    inputs: List[int]
    outputs: List[int]


class Contestant(Engine):
    """LiteRT's interpreter; its delegate XNNPACK takes what it can, as it does by default."""

    title = "LiteRT"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.threads = setup.threads if setup.regime == "matched" else None

    def facts(self) -> Dict[str, Any]:
        return {"version": ai_edge_litert.__version__, "device": "cpu", "threads": self.threads or "LiteRT's choice",
                "converter": "TensorFlow, in the same process", "quantised": False}

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch, optimizer)
        on_tensorflow.prepare(self._tensorflow, self.setup)
        printed = execute(source.native_source(graph, None), "litert", graph)
        self.keras, self.function = printed.model, printed.infer
        self.places = places(graph, self.keras)
        self.orders = feature_orders(graph)

    @property
    def _tensorflow(self) -> Any:
        import tensorflow
        return tensorflow

    def written(self, arrays: Arrays) -> Convertible:
        for name, place in self.places.items():
            place.store(arrays[name], place.variable)
        batch = [to_native(values, spec) for (_, spec), values in zip(self.inputs, self.zeros().values())]
        variables = [variable.value for variable in self.keras.variables]
        return self._traced(lambda *inputs: [self.function(*inputs)[name] for name in self.outputs], batch, variables)

    def operation(self, name: str, inputs: Arrays, constants: Arrays) -> Convertible:
        tf = self._tensorflow
        kinds: Dict[str, Callable[..., Any]] = {
            "matmul": tf.matmul, "multiply": tf.multiply, "conv": lambda a, b: tf.nn.conv2d(a, b, 1, "SAME")}
        fixed = [tf.constant(each) for each in constants.values()]
        return self._traced(lambda *given: [kinds[name](*given, *fixed)], list(inputs.values()), [])

    def _traced(self, function: Callable[..., Any], batch: Sequence[np.ndarray], variables: List[Any]) -> Convertible:
        tf = self._tensorflow
        owner = tf.Module()
        owner.kept = variables
        specs = [tf.TensorSpec(each.shape, each.dtype, "input{}".format(number)) for number, each in enumerate(batch)]
        numbered = tf.function(lambda *inputs: {
            "output{}".format(number): each for number, each in enumerate(function(*inputs))})
        return Convertible(numbered.get_concrete_function(*specs), owner)

    def load(self, model: Convertible) -> Session:
        converter = self._tensorflow.lite.TFLiteConverter.from_concrete_functions([model.traced], model.owner)
        interpreter = Interpreter(model_content=converter.convert(), num_threads=self.threads)
        interpreter.allocate_tensors()
        runner = interpreter.get_signature_runner()
        inputs, outputs = runner.get_input_details(), runner.get_output_details()
        return Session(interpreter, [inputs["input{}".format(number)]["index"] for number in range(len(inputs))],
                       [outputs["output{}".format(number)]["index"] for number in range(len(outputs))])

    def feed(self, arrays: Arrays) -> List[np.ndarray]:
        return [np.array(to_native(arrays[name], spec), spec.dtype, order="C") for name, spec in self.inputs]

    def hold(self, arrays: Arrays) -> List[np.ndarray]:
        return list(arrays.values())

    def run(self, session: Session, batch: List[np.ndarray]) -> Session:
        """The interpreter has one place for each input, so that a batch is copied there; the outputs stay in theirs."""
        for number, values in zip(session.inputs, batch):
            session.interpreter.set_tensor(number, values)
        session.interpreter.invoke()
        return session

    def values(self, handle: Session) -> List[np.ndarray]:
        return [handle.interpreter.get_tensor(number) for number in handle.outputs]

    def read(self, handle: Session) -> Arrays:
        return {"output/" + name: to_canonical(values, self.graph.spec(name), self.orders.get(name))
                for name, values in zip(self.outputs, self.values(handle))}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name != "conv":
            return super().probe(name, arrays)
        image, kernel = arrays.values()
        found = super().probe(name, {"a": image.transpose(0, 2, 3, 1), "b": kernel.transpose(2, 3, 1, 0)})
        return {"result": found["result"].transpose(0, 3, 1, 2)}

    def evidence(self) -> Dict[str, Any]:
        """The operators that the interpreter runs; DELEGATE is a part that XNNPACK has taken."""
        names = [each["op_name"] for each in self.session.interpreter._get_ops_details()]
        return {"layout": "channels_last", "kernels": dict(Counter(names).most_common())}
