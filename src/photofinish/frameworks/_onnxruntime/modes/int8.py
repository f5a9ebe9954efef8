"""int8, by ONNX Runtime's own static quantization, in the format and the types that it recommends for x86 CPUs.

Weights are int8 by output channel, activations uint8 by tensor, over the range that they have on generated batches. Its
certificate is by the rounding of that format, beside that of mode default, whose model it quantises. An x86 CPU without
VNNI adds products of uint8 and int8 in 16 bits, which overflow: reduced bert_base is refused there. Weights are uint8
about 128 on it, the same steps, as ONNX Runtime's documentation on quantization advises where accuracy drops.
"""

import platform
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set

import numpy as np

from photofinish.frameworks import Arrays

PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
PASSING = ("Add", "AveragePool", "BatchNormalization", "Clip", "Concat", "Flatten", "GlobalAveragePool", "LeakyRelu",
           "MaxPool", "Mul", "Pad", "Relu", "Reshape", "Resize", "Sigmoid", "Slice", "Split", "Squeeze", "Transpose",
           "Unsqueeze")
CPUINFO = Path("/proc/cpuinfo")
SAMPLES = 64  # that ranges are taken from, or a few more to fill the last batch


class Batches:
    """Batches as ONNX Runtime asks for them."""

    def __init__(self, batches: Iterable[Arrays]) -> None:
        self.left: Iterator[Arrays] = iter(batches)

    def get_next(self) -> Optional[Arrays]:
        return next(self.left, None)


class Mode:
    """Quantises models with `onnxruntime.quantization`."""

    samples = SAMPLES

    def __init__(self, quantization: Any) -> None:
        self.quantization = quantization
        self.unsigned = overflows()

    def changed(self, model: bytes, batches: Iterable[Arrays], program: Any = None) -> bytes:
        """The model with integers wherever ONNX Runtime has them, but for what of its `program` stays as it is."""
        kinds = self.quantization.QuantType
        with TemporaryDirectory() as folder:
            written, prepared, done = (Path(folder) / name for name in ("written", "prepared", "done"))
            written.write_bytes(model)
            # It folds BatchNorms into convolutions and infers shapes; symbolic ones are for batches of any size.
            self.quantization.quant_pre_process(str(written), str(prepared), skip_symbolic_shape=True)
            with np.errstate(all="ignore"):  # it computes steps of what is left out, too
                self.quantization.quantize_static(
                    str(prepared), str(done), Batches(batches), quant_format=self.quantization.QuantFormat.QDQ,
                    per_channel=True, activation_type=kinds.QUInt8,
                    weight_type=kinds.QUInt8 if self.unsigned else kinds.QInt8,
                    nodes_to_exclude=in_floats(program) if program else [], extra_options={"WeightSymmetric": True})
            return done.read_bytes()

    def facts(self) -> Dict[str, Any]:
        weights = "uint8 about 128" if self.unsigned else "int8"
        return {"quantization": "static, QDQ, weights {} by channel, activations uint8 by tensor".format(weights),
                "calibration": "least and largest value over {} generated samples".format(SAMPLES)}


def overflows() -> bool:
    """Whether this CPU adds products of uint8 and int8 in 16 bits: on x86, what has no instruction of VNNI or AMX."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not CPUINFO.exists():
        return False
    flags = CPUINFO.read_text()
    return "vnni" not in flags and "amx_int8" not in flags


def in_floats(program: Any) -> List[str]:
    """The operations that stay in float32. In integers are products, and what only passes values on from one to the
    next: anything else (a softmax, a norm, a sum that a norm reads) would gain little and round once more. What gives
    a result stays, too, as is usual: one beyond the range that examples had would be cut off. So does what computes
    with minus infinity, which masks a score: a range that holds it has no steps."""
    apart = _masked(program).union(name for name, _ in program.outputs)
    read: Set[str] = set()
    floats = []
    for each in reversed(program.operations):
        wanted = each.kind in PRODUCTS or (each.kind in PASSING and read.intersection(each.outputs))
        if wanted and not apart.intersection(each.outputs):
            read.update(each.inputs)
        else:
            floats.append(each.outputs[0])
    return floats


def _masked(program: Any) -> Set[str]:
    """What is made with minus infinity; Softmax makes numbers of it again."""
    infinite = {name for name, values in program.constants.items() if not np.isfinite(values).all()}
    found: Set[str] = set()
    for each in program.operations:
        if infinite.intersection(each.inputs):
            found.update(each.outputs)
            infinite.update(each.outputs if each.kind != "Softmax" else ())
    return found
