# /// script
# requires-python = ">=3.6,<3.8"
# dependencies = [
#     "keras==2.2.4", "theano==1.0.5", "numpy<1.17", "h5py<3", "setuptools<60",
# ]
# [tool.photofinish]
# title = "Keras on Theano"
# modes = ["keras"]
# compiles = { keras = "seconds" }
# system = ["g++"]
# download = "65 MB"
# disk = "200 MB"
# devices = ["cpu"]
# options = {}
# layers = "_keras.any_backend.on_theano"
# hazards = "running variances, losses and the gradients of ELU and max pools are mended here: Keras' own differ"
# [tool.photofinish.environment]
# KERAS_BACKEND = "theano"
# KERAS_HOME = "{cache}/keras-theano"
# THEANO_FLAGS = "floatX=float32,base_compiledir={cache}/theano"
# THEANORC = "/dev/null"
# ///
"""Keras 2.2.4, the last that was Keras alone, on Theano 1.0.5: by compile and train_on_batch. What is written stands in
_keras/any_backend/.

Operations are compiled by g++; products are those of the OpenBLAS that came with NumPy. Keras keeps its kernels in the
order of TensorFlow's, and Theano turns them by half a turn. In KERAS_HOME Keras leaves its settings.
"""

import os
import sys
from collections import Counter
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import Arrays, Unsupported
from photofinish.frameworks._common.channels_last import Layout
from photofinish.frameworks._keras.any_backend import on_theano
from photofinish.frameworks._keras.any_backend.contestant import BackendContestant
from photofinish.frameworks._keras.depthwise import is_depthwise
from photofinish.frameworks._keras.weights import Place
from photofinish.frameworks._theano import blas

__all__ = ["Contestant", "native_source"]

os.environ["KERAS_BACKEND"] = "theano"
os.environ["THEANO_FLAGS"] = os.environ.get("THEANO_FLAGS", "floatX=float32") + blas.flags()  # read once

import keras
import theano
import theano.tensor as T

native_source = on_theano.native_source
sys.setrecursionlimit(max(sys.getrecursionlimit(), 100000))  # by which Theano walks through a graph, however deep

PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: keras.backend.dot(a, b),
    "conv": lambda image, kernel: keras.backend.conv2d(image, kernel, padding="same"),
    "multiply": lambda a, b: a * b,
}


class Turned(Layout):
    """A kernel whose first axes, along which it slides, run the other way."""

    def __init__(self, layout: Layout, count: int) -> None:
        super().__init__(layout.shape, layout.axes, layout.view, layout.axis, layout.order)
        self.sliding = tuple(range(count))

    def native(self, array: np.ndarray) -> np.ndarray:
        return np.flip(super().native(array), self.sliding)

    def canonical(self, array: np.ndarray) -> np.ndarray:
        return super().canonical(np.flip(array, self.sliding))


class Contestant(BackendContestant):
    """Keras on Theano in float32 on the CPU."""

    library = keras
    source = on_theano
    title = "Keras on Theano"
    backend = "theano"

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(),
                    mended="the running variance is the batch's (Keras adds epsilon to it, and divides it by n - 1 - "
                           "epsilon); ELU is a switch (the gradient of T.nnet.elu is NaN above 88); of equal values "
                           "in a max pool the first has the gradient (Theano gives it to all)",
                    theano=theano.__version__, optimizer=theano.config.optimizer, linker=theano.config.linker,
                    compiler=theano.config.cxx,
                    blas=theano.config.blas.ldflags.rpartition("-l")[2] or "none: NumPy's, array by array",
                    threads="{} in products of matrices, one elsewhere".format(
                        os.environ.get("OPENBLAS_NUM_THREADS", "as OpenBLAS chooses")))

    def _places(self) -> Dict[str, Place]:
        found = super()._places()
        for node in self.graph.nodes:
            name = "parameter/{}.weight".format(node.name)
            layer, place = node.layer, found.get(name)
            depthwise = isinstance(layer, layers.Conv) and is_depthwise(layer, self.graph.spec(node.inputs[0]))
            if place and not depthwise and isinstance(layer, (layers.Conv, layers.ConvTranspose, layers.SequenceConv)):
                count = 1 if isinstance(layer, layers.SequenceConv) else 2
                found[name] = Place(place.variable, Turned(place.layout, count), place.row)
        return found

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        native, (places, values) = self.native["model"], self._fed(batch)
        if self.differentiated is None:
            found = T.grad(native.total_loss, native.trainable_weights, disconnected_inputs="ignore")
            self.differentiated = keras.backend.function(
                [*places, keras.backend.learning_phase()], [native.total_loss, *native.outputs, *found])
        loss, *results = self.differentiated([*values, 1])
        names = self._wanted()
        return loss, dict(zip(names, results)), results[len(names):]

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("Keras on Theano has no probe {}".format(name))
        values = [np.asarray(each, np.float32) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(2, 3, 1, 0)[::-1, ::-1]]
        given = [keras.backend.placeholder(each.shape) for each in values]
        result = keras.backend.function(given, [PROBES[name](*given)])(values)[0]
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else np.array(result)}

    def evidence(self) -> Dict[str, Any]:
        """The operations of the compiled functions, by their count."""
        model, found = self.native["model"], {}
        for name in ("train_function", "predict_function"):
            function = getattr(getattr(model, name, None), "function", None)
            if function is not None:
                found[name] = dict(Counter(type(node.op).__name__ for node in function.maker.fgraph.toposort()))
        return {"layout": "channels_last", "compiled": True, "operations": found}
