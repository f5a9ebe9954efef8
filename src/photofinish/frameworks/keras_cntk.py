# /// script
# requires-python = ">=3.6,<3.7"
# dependencies = [
#     "keras==2.2.4", "cntk==2.7", "numpy<1.17", "h5py<3", "pyyaml<6", "pip<22",
# ]
# [tool.photofinish]
# title = "Keras on CNTK"
# modes = ["keras"]
# system = ["libmpi"]
# download = "150 MB"
# disk = "460 MB"
# devices = ["cpu"]
# options = {}
# layers = "_keras.any_backend.on_cntk"
# hazards = "batch normalisation, LSTMs and losses are mended here: Keras' own differ"
# [tool.photofinish.environment]
# KERAS_BACKEND = "cntk"
# KERAS_HOME = "{cache}/keras-cntk"
# [tool.photofinish.libraries]
# "libmpi.so.12" = "libmpi.so.40"
# "libmpi_cxx.so.1" = "libmpi_cxx.so.40"
# ///
"""Keras 2.2.4, the last that was Keras alone, on CNTK 2.7: by compile and train_on_batch. What is written stands in
_keras/any_backend/.

CNTK was built for Open MPI 1.10, whose libraries a later one stands in for (header: libraries). It asks pip what is
installed. In KERAS_HOME Keras leaves its settings.
"""

import os
import warnings
from collections import Counter
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._keras.any_backend import on_cntk
from photofinish.frameworks._keras.any_backend.contestant import BackendContestant

__all__ = ["Contestant", "native_source"]

os.environ["KERAS_BACKEND"] = "cntk"

with warnings.catch_warnings():  # that it finds no GPU's libraries
    warnings.simplefilter("ignore")
    import cntk
    import keras

native_source = on_cntk.native_source

PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: keras.backend.dot(a, b),
    "conv": lambda image, kernel: keras.backend.conv2d(image, kernel, padding="same"),
    "multiply": lambda a, b: a * b,
}


class Contestant(BackendContestant):
    """Keras on CNTK in float32 on the CPU. Integers are fed as floats, which is all CNTK has."""

    library = keras
    source = on_cntk
    title = "Keras on CNTK"
    backend = "cntk"

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        cntk.cntk_py.set_max_num_cputhreads(setup.threads)
        cntk.cntk_py.reset_random_seed(setup.seed)  # a fixed seed would give every dropout the same mask

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(),
                    mended="batch normalisation has its own epsilon (Keras takes 1e-3 in training), and running "
                           "averages come before the weights move (Keras' after); an LSTM gives what comes out of it "
                           "(Keras' gives the state of its cell)",
                    cntk=cntk.__version__, threads=cntk.cntk_py.get_max_num_cputhreads())

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        native, (places, values) = self.native["model"], self._fed(batch)
        if self.differentiated is None:
            self.differentiated = cntk.combine([native.total_loss, *native.outputs])
        weights, outputs = native.trainable_weights, self.differentiated.outputs
        reached = [each for each in weights if each in native.total_loss.parameters]  # others have no gradient
        keras.backend.learning_phase().value = np.ones((), np.float32)
        given = dict(zip(places, values))
        gradients, results = self.differentiated.grad(
            {each: given[each] for each in self.differentiated.arguments}, wrt=reached, outputs=outputs,
            grad_root=outputs[0])
        if not isinstance(gradients, dict):
            gradients = dict.fromkeys(reached, gradients)
        found = [gradients[each] if each in gradients else np.zeros(each.shape, np.float32) for each in weights]
        loss, *values = [results[each] for each in outputs]
        return np.asarray(loss, np.float32).reshape(()), dict(zip(self._wanted(), values)), found

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("Keras on CNTK has no probe {}".format(name))
        first, second = (np.asarray(each, np.float32) for each in arrays.values())
        if name == "conv":
            first, second = first.transpose(0, 2, 3, 1), second.transpose(2, 3, 1, 0)
            image = keras.backend.placeholder(first.shape)
            result = PROBES[name](image, keras.backend.variable(second)).eval({image: first})
            return {"result": result.transpose(0, 3, 1, 2)}
        return {"result": np.array(PROBES[name](keras.backend.variable(first), keras.backend.variable(second)).eval())}

    def evidence(self) -> Dict[str, Any]:
        """The operations of the model in training, by their count."""
        root = cntk.combine(list(self.native["model"].outputs))
        nodes = cntk.logging.graph.depth_first_search(root, lambda each: hasattr(each, "op_name"))
        return {"layout": "channels_last", "compiled": False, "operations": dict(Counter(
            each.op_name for each in nodes))}
