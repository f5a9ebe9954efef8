# /// script
# requires-python = ">=3.11"
# dependencies = ["onnxruntime==1.31.1", "onnx==1.23.2", "numpy"]
# [tool.photofinish]
# title = "ONNX Runtime"
# modes = ["default", "int8"]
# precisions = { int8 = ["int8", "default"] }
# mode-devices = { int8 = ["cpu"] }
# tasks = ["infer"]
# download = "49 MB"
# disk = "180 MB"
# devices = ["cpu", "cuda"]
# never-run = ["cuda"]
# options = { optimization = ["all", "extended", "basic", "disabled"], spinning = ["on", "off"] }
# [tool.photofinish.lines]
# threads = ["options.intra_op_num_threads = {value}  # onnxruntime.SessionOptions()"]
# matched = ["options.inter_op_num_threads = 1"]
# "mode=default" = []
# "mode=int8" = ["onnxruntime.quantization.quantize_static(model, quantized, calibration)"]
# "optimization=all" = []
# "optimization=extended" = [
#     "options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED",
# ]
# "optimization=basic" = ["options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC"]
# "optimization=disabled" = ["options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL"]
# "spinning=on" = []
# "spinning=off" = ['options.add_session_config_entry("session.intra_op.allow_spinning", "0")']
# [[tool.photofinish.recipes]]
# version = "<1.19"
# python = ">=3.8,<3.13"
# dependencies = ["onnxruntime", "onnx<1.17", "numpy<2"]
# ///
"""ONNX Runtime: a session of the graph's ONNX model, run with NumPy arrays, or on a GPU with what lies there.

The model is written in _onnx/; a mode that changes it has a file in _onnxruntime/modes/. The device cuda (package
onnxruntime-gpu) was never run.
"""

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterable, Iterator, List, Optional

import numpy as np
import onnx
import onnxruntime

from photofinish.data import draw_batch
from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._common.modes import find, names
from photofinish.frameworks._onnx.engine import OnnxEngine
from photofinish.frameworks._onnx.pads import with_axes
from photofinish.frameworks._onnx.use import Arrays, Program

LEVELS = {"all": "ORT_ENABLE_ALL", "extended": "ORT_ENABLE_EXTENDED", "basic": "ORT_ENABLE_BASIC",
          "disabled": "ORT_DISABLE_ALL"}
SPINNING = {"on": "1", "off": "0"}  # whether a thread that waits for work keeps its core: ONNX Runtime's are so made
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
DEFAULT = "default"  # the mode that changes nothing
APART = 1000  # from the seeds of the batches that are timed and compared to those that a mode is given to learn from
QUIET = 3  # errors only: of what it thinks of a machine or a model, the audit and the certificate tell more


class Contestant(OnnxEngine):
    """ONNX Runtime with its default execution mode, one operator after the other."""

    title = "ONNX Runtime"
    modes = (DEFAULT, *names("onnxruntime"))  # type: ignore[assignment]
    options = ("optimization", "spinning")
    devices = tuple(PROVIDERS)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.level = self._option("optimization", LEVELS)
        self.spinning = self._option("spinning", SPINNING)
        kind, _, number = setup.device.partition(":")
        if PROVIDERS.get(kind) not in onnxruntime.get_available_providers():
            raise Unsupported("this ONNX Runtime has no device {}: it has {}".format(
                setup.device, ", ".join(onnxruntime.get_available_providers())))
        self.kind, self.number = kind, int(number or 0)
        self.mode: Any = None if setup.mode == DEFAULT else find("onnxruntime", setup.mode)(_quantization())

    def _option(self, name: str, values: Dict[str, str]) -> str:
        """What the contender asks for, or the first. Raises Unsupported."""
        found = self.setup.options.get(name, next(iter(values)))
        if found not in values:
            raise Unsupported("onnxruntime takes {}={}, not {}".format(name, " or ".join(values), found))
        return found

    def facts(self) -> Dict[str, Any]:
        options = self._options()
        return {"version": onnxruntime.__version__, "onnx_version": onnx.__version__, "device": self.setup.device,
                "intra_op_threads": options.intra_op_num_threads or "one per core",
                "inter_op_threads": options.inter_op_num_threads or "one per core",
                "spinning": self.spinning, "optimization": self.level,
                "build": onnxruntime.get_build_info(), **(self.mode.facts() if self.mode else {})}

    def _options(self) -> Any:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[self.level])
        options.log_severity_level = QUIET
        if self.setup.regime == "matched":
            options.intra_op_num_threads = self.setup.threads
            options.inter_op_num_threads = 1
            options.add_session_config_entry("session.set_denormal_as_zero", "1")
        for pool in ("intra", "inter") if "spinning" in self.setup.options else ():
            options.add_session_config_entry("session.{}_op.allow_spinning".format(pool), SPINNING[self.spinning])
        return options

    def adapted(self, program: Program) -> Program:
        return with_axes(program)

    def written(self, arrays: Arrays) -> bytes:
        return self._changed(super().written(arrays), self._examples(), self.program)

    def operation(self, name: str, inputs: Arrays, constants: Arrays) -> bytes:
        return self._changed(super().operation(name, inputs, constants), [inputs])

    def _changed(self, model: bytes, batches: Iterable[Arrays], program: Optional[Program] = None) -> bytes:
        return self.mode.changed(model, batches, program) if self.mode else model

    def _examples(self) -> Iterator[Arrays]:
        """Batches like those that will come."""
        for number in range(-(-self.mode.samples // self.batch)):
            yield self.feed(draw_batch(self.graph, self.batch, self.setup.seed + APART + number))

    def load(self, model: bytes) -> Any:
        return self._session(model, self._options())

    def _session(self, file: bytes, options: Any) -> Any:
        providers: List[Any] = [PROVIDERS["cpu"]]
        if self.kind == "cuda":  # never run
            strict = {"use_tf32": "0"} if self.setup.regime == "matched" else {}
            providers.insert(0, (PROVIDERS["cuda"], dict(strict, device_id=str(self.number))))
        session = onnxruntime.InferenceSession(file, options, providers=providers)
        if PROVIDERS[self.kind] not in session.get_providers():  # it only logs that, and goes on without
            raise Unsupported("ONNX Runtime could not begin with {}, and would run on {}".format(
                PROVIDERS[self.kind], ", ".join(session.get_providers())))
        return session

    def hold(self, arrays: Arrays) -> Any:
        if self.kind == "cpu":
            return arrays
        return {name: onnxruntime.OrtValue.ortvalue_from_numpy(values, self.kind, self.number)
                for name, values in arrays.items()}

    def run(self, session: Any, batch: Any) -> Any:
        if self.kind == "cpu":
            return session.run(None, batch)
        binding = session.io_binding()  # inputs and outputs stay on the GPU
        for name, value in batch.items():
            binding.bind_ortvalue_input(name, value)
        for output in session.get_outputs():
            binding.bind_output(output.name, self.kind, self.number)
        session.run_with_iobinding(binding)
        return binding

    def wait(self, handle: Any) -> None:
        if self.kind != "cpu":
            handle.synchronize_outputs()

    def values(self, handle: Any) -> List[np.ndarray]:
        return list(handle if self.kind == "cpu" else handle.copy_outputs_to_cpu())

    def evidence(self) -> Dict[str, Any]:
        """The kernels that ONNX Runtime's own profiler saw in one inference."""
        with TemporaryDirectory() as folder:
            options = self._options()
            options.enable_profiling = True
            options.profile_file_prefix = str(Path(folder) / "profile")
            session = self._session(self.written(self.arrays), options)
            self.wait(self.run(session, self.feed(self.zeros())))
            events = json.loads(Path(session.end_profiling()).read_text())
        kernels = Counter(each["args"]["op_name"] for each in events if each["name"].endswith("_kernel_time"))
        return {"providers": session.get_providers(), "kernels": dict(kernels.most_common())}


def _quantization() -> Any:
    """Imported where it is asked for: it takes as long as ONNX Runtime itself."""
    from onnxruntime import quantization
    return quantization
