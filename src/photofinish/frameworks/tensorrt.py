# /// script
# requires-python = ">=3.10"
# dependencies = ["tensorrt==10.16.1.11", "cuda-python==13.2.0", "onnx==1.23.2", "numpy"]
# [tool.photofinish]
# title = "TensorRT (never run)"
# brings = ["cuda"]
# modes = ["default"]
# tasks = ["infer"]
# devices = ["cuda"]
# never-run = ["cuda"]
# system = ["nvidia-smi"]
# options = {}
# ///
"""TensorRT: an engine built of the graph's ONNX model, run on one stream with what lies on the GPU.

The model is written in _onnx/. Never run: written from the documentation of TensorRT 10, on a machine without a GPU.
"""

from typing import Any, Dict, List, NamedTuple, Sequence

import numpy as np
import tensorrt
from cuda.bindings import runtime as cuda

from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._onnx.engine import OnnxEngine


def _of(answer: Any) -> Any:
    """What a call of CUDA gave behind its error code. Raises RuntimeError."""
    error, *found = answer
    if error != cuda.cudaError_t.cudaSuccess:
        raise RuntimeError("{} (out of memory)".format(error) if "MemoryAllocation" in str(error) else str(error))
    return found[0] if found else None


class Memory:
    """The place of an array on the GPU."""

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.host = np.empty(tuple(shape), dtype)
        self.address = _of(cuda.cudaMalloc(max(1, self.host.nbytes)))

    def __del__(self) -> None:
        if hasattr(self, "address"):
            cuda.cudaFree(self.address)

    def write(self, values: np.ndarray) -> "Memory":
        kind = cuda.cudaMemcpyKind.cudaMemcpyHostToDevice
        _of(cuda.cudaMemcpy(self.address, values.ctypes.data, values.nbytes, kind))
        return self

    def read(self) -> np.ndarray:
        kind = cuda.cudaMemcpyKind.cudaMemcpyDeviceToHost
        _of(cuda.cudaMemcpy(self.host.ctypes.data, self.address, self.host.nbytes, kind))
        return self.host.copy()


class Session(NamedTuple):
    """What TensorRT has built, and where it puts the outputs, in order."""

    engine: Any
    context: Any
    outputs: List[Memory]


class Contestant(OnnxEngine):
    """TensorRT in float32: in a matched race without the TF32 that it takes by itself."""

    title = "TensorRT"
    devices = ("cuda",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        number = setup.device.partition(":")[2]
        error, count = cuda.cudaGetDeviceCount()
        if error != cuda.cudaError_t.cudaSuccess or int(number or 0) >= count:
            raise Unsupported("TensorRT finds no device {} here ({})".format(setup.device, error))
        _of(cuda.cudaSetDevice(int(number or 0)))
        self.stream = _of(cuda.cudaStreamCreate())
        self.logger = tensorrt.Logger(tensorrt.Logger.ERROR)
        self.runtime = tensorrt.Runtime(self.logger)

    def facts(self) -> Dict[str, Any]:
        return {"version": tensorrt.__version__, "device": self.setup.device,
                "cuda": _of(cuda.cudaRuntimeGetVersion()), "tf32": self.setup.regime != "matched"}

    def load(self, model: bytes) -> Session:
        builder = tensorrt.Builder(self.logger)
        network = builder.create_network()
        parser = tensorrt.OnnxParser(network, self.logger)
        if not parser.parse(model):
            raise Unsupported("TensorRT: {}".format(parser.get_error(0).desc()))
        config = builder.create_builder_config()
        if self.setup.regime == "matched":
            config.clear_flag(tensorrt.BuilderFlag.TF32)
        plan = builder.build_serialized_network(network, config)
        if plan is None:
            raise RuntimeError("TensorRT built no engine: its log says why")
        engine = self.runtime.deserialize_cuda_engine(plan)
        if engine is None:
            raise RuntimeError("TensorRT could not read its own engine: its log says why")
        context = engine.create_execution_context()
        if context is None:
            raise MemoryError("TensorRT made no context for the engine, as it does where memory is out")
        outputs = []
        for name in (network.get_output(number).name for number in range(network.num_outputs)):
            outputs.append(Memory(engine.get_tensor_shape(name), tensorrt.nptype(engine.get_tensor_dtype(name))))
            context.set_tensor_address(name, outputs[-1].address)
        return Session(engine, context, outputs)

    def hold(self, arrays: Arrays) -> Dict[str, Memory]:
        return {name: Memory(values.shape, values.dtype).write(values) for name, values in arrays.items()}

    def run(self, session: Session, batch: Dict[str, Memory]) -> Session:
        for name, memory in batch.items():
            session.context.set_tensor_address(name, memory.address)
        if not session.context.execute_async_v3(self.stream):
            raise RuntimeError("TensorRT refused to run: its log says why")
        return session

    def wait(self, handle: Session) -> None:
        _of(cuda.cudaStreamSynchronize(self.stream))

    def values(self, handle: Session) -> List[np.ndarray]:
        self.wait(handle)
        return [memory.read() for memory in handle.outputs]

    def evidence(self) -> Dict[str, Any]:
        """The layers of the engine, as TensorRT has fused them."""
        inspector = self.session.engine.create_engine_inspector()
        layers = [inspector.get_layer_information(number, tensorrt.LayerInformationFormat.ONELINE).strip()
                  for number in range(self.session.engine.num_layers)]
        return {"kernels": layers}
