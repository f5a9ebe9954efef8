# /// script
# requires-python = ">=3.11"
# dependencies = ["keras==3.15.1", "jax==0.10.2", "numpy"]
# [tool.photofinish]
# title = "Keras on JAX"
# modes = ["jit", "nojit"]
# compiles = { jit = "seconds", nojit = "minutes" }
# download = "145 MB"
# disk = "690 MB"
# devices = ["cpu", "cuda", "tpu"]
# never-run = ["tpu"]
# options = { build = [] }
# loops = { fit = "jit" }
# builds = { "keras.applications" = "keras" }
# [tool.photofinish.environment]
# KERAS_BACKEND = "jax"
# XLA_PYTHON_CLIENT_PREALLOCATE = "false"
# JAX_COMPILATION_CACHE_DIR = "{cache}/jax"
# [tool.photofinish.strategies.data_parallel]
# modes = ["jit"]
# devices = ["cpu"]
# one-process = true
# whole-batch = true
# [tool.photofinish.lines]
# threads = ["export PJRT_NPROC={value}"]
# "mode=jit" = ["model.compile(..., jit_compile=True)"]
# "mode=nojit" = ["model.compile(..., jit_compile=False)"]
# ///
"""Keras 3 on JAX, by Keras' own trainer: the whole step under jax.jit with donated buffers (jit, what
jit_compile="auto" chooses), or operation by operation (nojit).
"""

import os
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Given, Setup
from photofinish.frameworks._common import on_jax
from photofinish.frameworks._keras.compiled import compiled_source
from photofinish.frameworks._keras.trained import TrainedContestant, inside

__all__ = ["Contestant", "native_source"]

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras

STEPS = {"jit": "jax.jit with donated buffers", "nojit": "operation by operation"}
native_source = partial(compiled_source, "jax", jit=True)


class Contestant(TrainedContestant):
    """Runs train_on_batch and predict_on_batch on JAX."""

    library = keras
    title = "Keras on JAX"
    backend = "jax"
    devices = on_jax.PLATFORMS

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.device = on_jax.prepare(jax, setup)
        jax.config.update("jax_default_device", self.device)

    def put(self, arrays: Given) -> None:
        super().put({name: np.array(values) for name, values in arrays.items()})  # JAX may look at NumPy's own memory

    def _backend_facts(self) -> Dict[str, Any]:
        return dict(on_jax.facts(jax, self.device), jax=jax.__version__, step=STEPS[self.setup.mode])

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return jax.jit(function) if self.setup.mode == "jit" else function  # type: ignore[no-any-return]

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        def forward(trainable: Any, fixed: Any, x: Any, labels: Any) -> Any:
            outputs, after = self.model.stateless_call(trainable, fixed, x, training=True)
            return self._loss(outputs, labels), (outputs, after)

        if self.differentiated is None:
            self.differentiated = self._in_mode(jax.value_and_grad(forward, has_aux=True))
        trainable, fixed = self.model.trainable_variables, self.model.non_trainable_variables
        (loss, (outputs, after)), found = self.differentiated(
            [each.value for each in trainable], [each.value for each in fixed], *self._split(batch))
        for variable, value in zip(fixed, after):  # the streams of random numbers run on
            variable.assign(value)
        return loss, outputs, found

    def wait(self, handle: Any) -> None:
        """Keras returns numbers and NumPy arrays. What one compiled program computes is ready together; operations of
        their own may be under way."""
        if self.setup.mode == "nojit" and not isinstance(handle, dict):
            jax.block_until_ready([each.value for each in self.model.variables])

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_jax.device_memory(self.device)

    def _seen(self, step: Any) -> Dict[str, Any]:
        """How many programs jax.jit made of the step; none where every operation is one of its own."""
        return {"programs": sum(each._cache_size() for each in inside(step, "_cache_size"))}

    def compilations(self) -> int:
        return sum(self._seen(step)["programs"] for step in self._steps().values())
