# /// script
# requires-python = ">=3.11"
# dependencies = ["keras==3.15.1", "torch==2.13.0", "numpy"]
# [tool.photofinish]
# title = "Keras on PyTorch"
# modes = ["nojit", "jit"]
# compiles = { nojit = "seconds", jit = "minutes" }
# download = "219 MB"
# disk = "1.1 GB"
# devices = ["cpu", "cuda"]
# options = { build = [] }
# loops = { fit = "nojit" }
# builds = { "keras.applications" = "keras" }
# [tool.photofinish.environment]
# KERAS_BACKEND = "torch"
# TORCHINDUCTOR_CACHE_DIR = "{cache}/inductor"
# TRITON_CACHE_DIR = "{cache}/triton"
# [tool.photofinish.lines]
# threads = ["torch.set_num_threads({value})"]
# "mode=jit" = ["model.compile(..., jit_compile=True)"]
# "mode=nojit" = ["model.compile(..., jit_compile=False)"]
# ///
"""Keras 3 on PyTorch, by Keras' own trainer: eager (nojit, what jit_compile="auto" chooses), or with torch.compile of
the whole step (jit), which Keras' own code breaks into many graphs: see the evidence.
"""

import os
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Tuple

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._common import on_torch
from photofinish.frameworks._keras.compiled import compiled_source
from photofinish.frameworks._keras.trained import TrainedContestant

__all__ = ["Contestant", "native_source"]

os.environ["KERAS_BACKEND"] = "torch"

import keras
import torch

STEPS = {"nojit": "eager", "jit": "torch.compile, in the many graphs that Keras' own code breaks it into"}
native_source = partial(compiled_source, "torch")


class Contestant(TrainedContestant):
    """Runs train_on_batch and predict_on_batch on PyTorch."""

    library = keras
    title = "Keras on PyTorch"
    backend = "torch"
    devices = ("cpu", "cuda")

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.device = torch.device(setup.device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this PyTorch ({}) sees no CUDA device".format(torch.__version__))
        if torch.cuda.is_available():  # where Keras would choose a GPU by itself
            keras.device(setup.device).__enter__()
        if setup.regime == "matched":
            on_torch.match(torch, setup.threads)

    def _backend_facts(self) -> Dict[str, Any]:
        return {"torch": torch.__version__, "threads": torch.get_num_threads(), "device": str(self.device),
                "interop_threads": torch.get_num_interop_threads(), "float32": on_torch.float32(torch),
                "cuda": torch.version.cuda, "step": STEPS[self.setup.mode]}

    def _in_mode(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return torch.compile(function) if self.setup.mode == "jit" else function  # type: ignore[no-any-return]

    def _backward(self, batch: Tuple[Any, ...]) -> Tuple[Any, Dict[str, Any], List[Any]]:
        def forward(x: Any, labels: Any) -> Any:
            outputs = self.model(x, training=True)
            return self._loss(outputs, labels), outputs

        if self.differentiated is None:
            self.differentiated = self._in_mode(forward)
        values = [variable.value for variable in self.model.trainable_variables]
        self.model.zero_grad()
        loss, outputs = self.differentiated(*self._split(batch))
        loss.backward()
        found = [torch.zeros_like(value) if value.grad is None else value.grad.clone() for value in values]
        self.model.zero_grad()
        return loss, outputs, found

    def wait(self, handle: Any) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_torch.device_memory(torch, self.device)

    def _seen(self, step: Any) -> Dict[str, Any]:
        """What torch.compile made of all steps of this process, where there was something to compile."""
        if self.setup.mode != "jit":
            return {}
        from torch._dynamo import utils
        from torch._inductor import metrics
        return {"graphs": self.compilations(),
                "graph_breaks": sum(utils.counters["graph_break"].values()),
                "generated_kernels": metrics.generated_kernel_count}

    def compilations(self) -> int:
        from torch._dynamo import utils
        return utils.counters["stats"]["unique_graphs"] if self.setup.mode == "jit" else 0  # type: ignore[no-any-return]
