# /// script
# requires-python = ">=3.11"
# dependencies = ["keras==3.15.1", "tensorflow-cpu==2.21.0", "numpy"]
# [tool.photofinish]
# title = "Keras on TensorFlow"
# modes = ["nojit", "jit"]
# compiles = { nojit = "seconds", jit = "minutes" }
# download = "320 MB"
# disk = "1.6 GB"
# devices = ["cpu", "cuda"]
# never-run = ["cuda"]
# options = { build = [] }
# loops = { fit = "nojit" }
# builds = { "keras.applications" = "keras" }
# environment = { KERAS_BACKEND = "tensorflow" }
# [tool.photofinish.lines]
# threads = [
#     "tf.config.threading.set_intra_op_parallelism_threads({value})",
#     "tf.config.threading.set_inter_op_parallelism_threads({value})",
# ]
# "mode=jit" = ["model.compile(..., jit_compile=True)"]
# "mode=nojit" = ["model.compile(..., jit_compile=False)"]
# [[tool.photofinish.recipes]]
# version = "<2.3"
# python = ">=3.6,<3.7"
# dependencies = [
#     "keras==2.2.4", "tensorflow==1.12.0", "numpy<1.17", "scipy<1.6", "h5py<3", "protobuf<3.20", "termcolor<1.2",
#     "setuptools<60",
# ]
# download = "150 MB"
# disk = "600 MB"
# modes = ["keras"]
# driver = "_keras.own_session"
# layers = "_keras.keras2"
# hazards = "the wheels of TensorFlow 1.12 know AVX, but no AVX2, FMA or AVX-512; two faults of Keras are mended here"
# ///
"""Keras 3 on TensorFlow, by Keras' own trainer: a tf.function without XLA (nojit) or compiled by it (jit).

What jit_compile="auto" chooses is nojit without a GPU and jit with one.
"""

import os
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

from photofinish.frameworks import Setup
from photofinish.frameworks._common import on_tensorflow
from photofinish.frameworks._keras.compiled import compiled_source
from photofinish.frameworks._keras.trained import TrainedContestant, inside

__all__ = ["Contestant", "native_source"]

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import tensorflow as tf

STEPS = {"nojit": "a tf.function", "jit": "a tf.function compiled by XLA"}
native_source = partial(compiled_source, "tensorflow")


class Contestant(TrainedContestant):
    """Runs train_on_batch and predict_on_batch on TensorFlow."""

    library = keras
    title = "Keras on TensorFlow"
    backend = "tensorflow"
    devices = ("cpu", "cuda")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        on_tensorflow.prepare(tf, setup)

    def _backend_facts(self) -> Dict[str, Any]:
        return dict(on_tensorflow.facts(tf), tensorflow=tf.__version__, step=STEPS[self.setup.mode])

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return tf.function(function, jit_compile=self.setup.mode == "jit")  # type: ignore[no-any-return]

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        if self.differentiated is None:
            self.differentiated = self._in_mode(on_tensorflow.differentiated(tf, self.model, self._loss))
        return self.differentiated(*self._split(batch))  # type: ignore[no-any-return]

    def wait(self, handle: Any) -> None:
        """Keras returns numbers and NumPy arrays; on a CPU TensorFlow has finished then, on a GPU the updates may be
        under way."""
        if self.setup.device != "cpu":
            tf.test.experimental.sync_devices()

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_tensorflow.device_memory(tf, self.setup.device)

    def _seen(self, step: Any) -> Dict[str, Any]:
        """Whether XLA must compile it, as TensorFlow's own functions say, and how often they were traced."""
        functions = list(inside(step, "experimental_get_tracing_count"))
        traced = [each.function_def for function in functions
                  for each in function._list_all_concrete_functions()]
        return {"traces": max(each.experimental_get_tracing_count() for each in functions),
                "xla": any(each.attr["_XlaMustCompile"].b for each in traced)}

    def compilations(self) -> int:
        return sum(self._seen(step)["traces"] for step in self._steps().values())
