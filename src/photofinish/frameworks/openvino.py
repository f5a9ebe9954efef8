# /// script
# requires-python = ">=3.10"
# dependencies = ["openvino==2026.4.1", "onnx==1.23.2", "numpy"]
# [tool.photofinish]
# title = "OpenVINO"
# modes = ["default", "bf16", "fp16"]
# precisions = { bf16 = ["bfloat16", "default"], fp16 = ["float16", "default"] }
# tasks = ["infer"]
# download = "82 MB"
# disk = "300 MB"
# devices = ["cpu"]
# options = {}
# [tool.photofinish.lines]
# threads = ['settings["INFERENCE_NUM_THREADS"] = {value}  # of core.compile_model(model, "CPU", settings)']
# matched = [
#     'settings |= {"PERFORMANCE_HINT": "LATENCY", "CPU_DENORMALS_OPTIMIZATION": True, "ENABLE_CPU_PINNING": False}',
# ]
# "mode=default" = ['settings["INFERENCE_PRECISION_HINT"] = "f32"']
# "mode=bf16" = ['settings["INFERENCE_PRECISION_HINT"] = "bf16"']
# "mode=fp16" = ['settings["INFERENCE_PRECISION_HINT"] = "f16"']
# ///
"""OpenVINO: the graph's ONNX model compiled for the CPU, and one inference request that is used again and again.

The model is written in _onnx/. Left alone, OpenVINO computes in bfloat16 where the CPU does; modes bf16 and fp16
ask for their format whatever the regime.
"""

from collections import Counter
from typing import Any, Dict, List

import numpy as np
import onnx
import openvino

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks._onnx.engine import OnnxEngine
from photofinish.frameworks._onnx.use import Arrays, Operation, Program

DEVICE = "CPU"
HINTS = {"default": ("f32", "FP32"), "bf16": ("bf16", "BF16"), "fp16": ("f16", "FP16")}  # and what the CPU must have
PROPERTIES = ("INFERENCE_PRECISION_HINT", "INFERENCE_NUM_THREADS", "NUM_STREAMS", "PERFORMANCE_HINT",
              "ENABLE_CPU_PINNING")


class Contestant(OnnxEngine):
    """OpenVINO's CPU plugin, asked for one answer at a time."""

    title = "OpenVINO"
    modes = tuple(HINTS)  # type: ignore[assignment]

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.core = openvino.Core()
        self.settings: Dict[str, Any] = {}
        hint, needed = HINTS[setup.mode]
        able = self.core.get_property(DEVICE, "OPTIMIZATION_CAPABILITIES")
        if needed not in able:  # it would take another format, and say nothing
            raise Unsupported("OpenVINO has no {} on this CPU: it has {}".format(needed, ", ".join(
                sorted(set(able) & {capability for _, capability in HINTS.values()}))))
        if setup.regime == "matched":
            self.settings = {"INFERENCE_NUM_THREADS": setup.threads,
                             "PERFORMANCE_HINT": "LATENCY", "CPU_DENORMALS_OPTIMIZATION": True,
                             "ENABLE_CPU_PINNING": False}  # it would choose cores of its own for its threads
        if setup.regime == "matched" or setup.mode != "default":
            self.settings["INFERENCE_PRECISION_HINT"] = hint

    def facts(self) -> Dict[str, Any]:
        version, _, build = openvino.__version__.partition("-")
        return {"version": version, "build": build, "onnx_version": onnx.__version__, "device": "cpu",
                "processor": self.core.get_property(DEVICE, "FULL_DEVICE_NAME"),
                "default_precision": _named(self.core.get_property(DEVICE, "INFERENCE_PRECISION_HINT")),
                "settings": {name: str(value) for name, value in self.settings.items()}}

    def adapted(self, program: Program) -> Program:
        """OpenVINO 2026.4.1 takes the bias of LRN on a CPU for 1, whatever it is (test_layers saw it): so it is 1, by
        x / (bias + s) ** beta = bias ** -beta * x / (1 + s / bias) ** beta."""
        before, program.operations = program.operations, []
        for each in before:
            bias = each.attributes.get("bias", 1.0) if each.kind == "LRN" else 1.0
            if bias == 1.0:
                program.operations.append(each)
                continue
            (output,) = each.outputs
            factor, inner = output + "/factor", output + "/LRN"
            program.constants[factor] = np.array(bias ** -each.attributes["beta"], np.float32)
            attributes = dict(each.attributes, alpha=each.attributes["alpha"] / bias, bias=1.0)
            program.operations += [each._replace(outputs=(inner,), attributes=attributes),
                                   Operation("Mul", (inner, factor), each.outputs, {})]
        return program

    def load(self, model: bytes) -> Any:
        return self.core.compile_model(self.core.read_model(model), DEVICE, self.settings).create_infer_request()

    def hold(self, arrays: Arrays) -> Any:
        return {name: openvino.Tensor(values, shared_memory=True) for name, values in arrays.items()}

    def run(self, session: Any, batch: Any) -> Any:
        """Without copies: the outputs lie where the next inference puts its own."""
        return session.infer(batch, share_inputs=True, share_outputs=True)

    def values(self, handle: Any) -> List[np.ndarray]:
        return [handle[number] for number in range(len(handle))]

    def evidence(self) -> Dict[str, Any]:
        """The settings of the compiled model, and the kernels and formats that it chose."""
        compiled = self.session.get_compiled_model()
        found: Dict[str, Any] = {name.lower(): _named(compiled.get_property(name)) for name in PROPERTIES}
        seen = [each.get_rt_info() for each in compiled.get_runtime_model().get_ordered_ops()]
        for topic, key in (("precisions", "runtimePrecision"), ("kernels", "primitiveType")):
            found[topic] = dict(Counter(each[key].astype(str) for each in seen if key in each).most_common())
        return found


def _named(value: Any) -> str:
    """As OpenVINO spells a type or a setting."""
    return value.get_type_name() if hasattr(value, "get_type_name") else str(getattr(value, "name", value))
