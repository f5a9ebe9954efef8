# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy"]
# [tool.photofinish]
# title = "PyTorch"
# modes = ["eager", "compile", "max-autotune", "trace", "export", "bf16", "fp16", "tf32", "cudagraphs"]
# tasks = { trace = ["infer"], export = ["infer"], fp16 = ["infer"] }
# precisions = { bf16 = ["bfloat16", "eager"], fp16 = ["float16", "eager"], tf32 = ["TF32", "eager"] }
# mode-devices = { cudagraphs = ["cuda"], tf32 = ["cuda"] }
# download = "209 MB"
# disk = "990 MB"
# devices = ["cpu", "cuda"]
# options = { layout = ["contiguous", "channels_last"], fused = ["off", "on"], build = [] }
# of-training = ["fused"]
# pipeline = { workers = ["N"] }
# builds = { torchvision = "torchvision==0.28.0", timm = "timm", transformers = "transformers" }
# environment = { TORCHINDUCTOR_CACHE_DIR = "{cache}/inductor", TRITON_CACHE_DIR = "{cache}/triton" }
# [tool.photofinish.compiles]
# compile = "seconds"
# max-autotune = "minutes"
# trace = "seconds"
# export = "seconds"
# cudagraphs = "seconds"
# [tool.photofinish.strategies.ddp]
# modes = ["eager"]
# devices = ["cpu"]
# gradients = { fp16 = "float16", powersgd = "approximated", localsgd = "approximated" }
# [tool.photofinish.strategies.ddp.options]
# hook = ["fp16", "powersgd", "localsgd"]
# matrix_rank = ["N"]
# period = ["N"]
# bucket = ["N"]
# accumulate = ["N"]
# [tool.photofinish.strategies]
# dp = { modes = ["eager"], devices = ["cuda"], one-process = true, never-run = true }
# fsdp2 = { modes = ["eager"], devices = ["cpu"] }
# gpipe = { modes = ["eager"], devices = ["cpu"] }
# tensor = { modes = ["eager"], devices = ["cpu"], whole-batch = true }
# zero = { modes = ["eager"], devices = ["cpu"], options = { accumulate = ["N"] } }
# [tool.photofinish.strategies.horovod]
# modes = ["eager"]
# devices = ["cpu"]
# options = { hook = ["fp16"] }
# gradients = { fp16 = "float16" }
# [tool.photofinish.strategies.horovod.recipe]
# dependencies = ["torch==2.13.0", "numpy", "horovod==0.28.1"]
# build-dependencies = ["torch==2.13.0", "numpy", "setuptools<80", "wheel", "packaging", "pyyaml", "cffi"]
# no-build-isolation = true
# compiler-flags = "-std=c++17"
# build-system = ["cmake", "make", "c++"]
# download = "212 MB"
# disk = "940 MB"
# hazards = "Horovod is built from its source, which took three minutes on two cores"
# [tool.photofinish.strategies.horovod.recipe.build-environment]
# MAKEFLAGS = "-j4"
# HOROVOD_WITH_PYTORCH = "1"
# HOROVOD_WITH_GLOO = "1"
# HOROVOD_CPU_OPERATIONS = "GLOO"
# HOROVOD_WITHOUT_MPI = "1"
# HOROVOD_WITHOUT_TENSORFLOW = "1"
# HOROVOD_WITHOUT_MXNET = "1"
# [tool.photofinish.lines]
# threads = ["torch.set_num_threads({value})"]
# matched = ["torch.set_flush_denormal(True)"]
# "mode=eager" = []
# "mode=compile" = ["model = torch.compile(model, dynamic=False)"]
# "mode=max-autotune" = ['model = torch.compile(model, dynamic=False, mode="max-autotune")']
# "mode=trace" = ["model = torch.jit.freeze(torch.jit.trace(model.eval(), example))"]
# "mode=export" = ["model = torch.export.export(model.eval(), (example,)).module()"]
# "mode=bf16" = ["forward = torch.autocast(device, dtype=torch.bfloat16)(forward)"]
# "mode=fp16" = ["forward = torch.autocast(device, dtype=torch.float16)(forward)"]
# "mode=tf32" = [
#     'torch.backends.cuda.matmul.fp32_precision = "tf32"',
#     'torch.backends.cudnn.conv.fp32_precision = "tf32"',
# ]
# "mode=cudagraphs" = ['model = torch.compile(model, dynamic=False, mode="reduce-overhead")']
# "layout=contiguous" = []
# "layout=channels_last" = [
#     "model = model.to(memory_format=torch.channels_last)",
#     "images = images.to(memory_format=torch.channels_last)  # of each batch",
# ]
# "fused=off" = []
# "fused=on" = ["optimizer = torch.optim.SGD(model.parameters(), ..., fused=True)  # or Adam"]
# bucket = ["model = DistributedDataParallel(model, bucket_cap_mb={value})"]
# accumulate = [
#     "(loss / {value}).backward()  # of each of {value} parts of a batch, in turn",
#     "with model.no_sync(): ...  # around all but the last, which sends",
# ]
# [[tool.photofinish.recipes]]
# version = "<1.4"
# python = ">=3.6,<3.7"
# dependencies = ["torch==1.0.0", "numpy<1.17", "protobuf==3.19.6", "future", "six"]
# download = "610 MB"
# disk = "1.2 GB"
# modes = ["eager"]
# driver = "_torch.older"
# layers = "_torch.since"
# hazards = "wheels of 2018 and 2019 know AVX2 but no AVX-512, and bring MKL and MKL-DNN of that time"
# [[tool.photofinish.recipes]]
# version = ">=1.4,<1.8"
# python = ">=3.6,<3.9"
# dependencies = ["torch", "numpy<1.20"]
# modes = ["eager"]
# driver = "_torch.older"
# layers = "_torch.since"
# hazards = "the wheels hold CUDA libraries, too: about 800 MB to download"
# [[tool.photofinish.recipes]]
# version = ">=1.8,<1.11"
# python = ">=3.8,<3.10"
# dependencies = ["torch", "numpy<1.24"]
# modes = ["eager", "trace"]
# driver = "_torch.older"
# layers = "_torch.since"
# hazards = "the wheels hold CUDA libraries, too: about 800 MB to download"
# [[tool.photofinish.recipes]]
# version = ">=1.11,<2.1"
# python = ">=3.8,<3.11"
# dependencies = ["torch==1.12.1", "numpy<1.24"]
# modes = ["eager", "trace"]
# driver = "_torch.older"
# layers = "_torch.since"
# hazards = "the wheels hold CUDA libraries, too: about 800 MB to download, from 1.13 on with NVIDIA's own beside them"
# [[tool.photofinish.recipes]]
# version = ">=2.1,<2.3"
# python = ">=3.8,<3.12"
# dependencies = ["torch", "numpy<2"]
# hazards = "never tried here: the wheels bring NVIDIA's libraries, gigabytes to download"
# [[tool.photofinish.recipes]]
# version = ">=2.3,<2.5"
# python = ">=3.8,<3.13"
# dependencies = ["torch", "numpy"]
# hazards = "never tried here: the wheels bring NVIDIA's libraries, gigabytes to download"
# ///
"""PyTorch: a graph is written out as the nn.Module a person would write, and that source is what runs.

So `photofinish show --as torch` prints the very code that races. The writing is in _torch/, how it runs in each mode in
_torch/modes/.
"""

from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Tuple

import numpy as np
import torch
from torch.nn import functional

from photofinish import optimizers
from photofinish.frameworks import Arrays, Differences, Given, Setup, Unsupported
from photofinish.frameworks._common import on_torch
from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._common.modes import find, names
from photofinish.frameworks._common.population import PopulationVariances
from photofinish.frameworks._common.trainer import Slot, Trainer
from photofinish.frameworks._torch.shipped import Shipped
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]


LAYOUTS = ("contiguous", "channels_last")
FUSED = {"off": False, "on": True}
FLOATS = {"float32": torch.float32, "float64": torch.float64}
SLOTS = {"velocity": "momentum_buffer", "moment1": "exp_avg", "moment2": "exp_avg_sq"}
FACTS = {"version": "__version__", "git": "version.git_version", "threads": "get_num_threads",
         "interop_threads": "get_num_interop_threads", "cpu_capability": "backends.cpu.get_cpu_capability",
         "onednn": "backends.mkldnn.is_available", "cuda": "version.cuda", "cudnn": "backends.cudnn.version",
         "cudnn_benchmark": "backends.cudnn.benchmark", "deterministic": "are_deterministic_algorithms_enabled"}
PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: a @ b,
    "conv": lambda image, weight: functional.conv2d(image, weight, padding=1),
    "multiply": lambda a, b: a * b,
}
INFERENCE = getattr(torch, "inference_mode", torch.no_grad)
BFLOAT16 = getattr(torch, "bfloat16", None)


def _ask(path: str) -> Any:
    """What PyTorch says of itself, or None."""
    found = on_torch.find(torch, path)
    return found() if callable(found) else found


def _optimizer(optimizer: optimizers.Optimizer, parameters: Any, how: Dict[str, bool]) -> Any:
    """torch.optim's own, with what it is to be told beside its numbers."""
    if isinstance(optimizer, optimizers.SGD):
        return torch.optim.SGD(parameters, lr=optimizer.learning_rate, momentum=optimizer.momentum, **how)
    return torch.optim.Adam(parameters, lr=optimizer.learning_rate, betas=(optimizer.beta1, optimizer.beta2),
                            eps=optimizer.epsilon, **how)


def _array(tensor: Any) -> np.ndarray:
    """A copy in canonical layout; NumPy has no bfloat16, and float32 holds all its values."""
    shown = tensor.detach().float() if tensor.dtype == BFLOAT16 else tensor.detach()
    return np.array(shown.cpu().numpy(), order="C")


def _gradient(parameter: Any) -> np.ndarray:
    """Zeros where none arrived."""
    return _array(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)


class Contestant(Trainer):
    """The loss, inference and the audit's probes run as the mode says, the optimizer as torch.optim ships it."""

    title = "torch"
    modes = names("torch")
    options = ("layout", "fused", "build")
    precisions = tuple(FLOATS)
    devices = ("cpu", "cuda")
    convention = PopulationVariances

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.mode = find("torch", setup.mode)(torch, setup)
        self.trains = self.mode.trains
        self.layout = self._option("layout", LAYOUTS)
        self.fused = FUSED[self._option("fused", FUSED)]
        self.shipped = Shipped(setup.options["build"], setup.names) if "build" in setup.options else None
        self.device = torch.device(setup.device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this PyTorch ({}) sees no CUDA device".format(torch.__version__))
        self.dtype = FLOATS[setup.precision]
        self.operations: Dict[str, Any] = {}  # the probes that were used, in this mode
        torch.manual_seed(setup.seed)
        if setup.regime == "matched":
            on_torch.match(torch, setup.threads)

    def _option(self, name: str, values: Iterable[str]) -> str:
        """What the contender asks for, or the first of the values. Raises Unsupported."""
        found = self.setup.options.get(name, next(iter(values)))
        if found not in values:
            raise Unsupported("torch takes {}={}, not {}".format(name, " or ".join(values), found))
        return found

    def facts(self) -> Dict[str, Any]:
        return dict(
            {name: _ask(path) for name, path in FACTS.items()}, precision=self.setup.precision, layout=self.layout,
            device=torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu",
            float32=on_torch.float32(torch),
            optimizer="torch.optim, " + ("fused" if self.fused else "foreach and fused as PyTorch chooses"),
            **self.mode.facts(),
            **(self.shipped.facts() if self.shipped else {}))

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        self.memoryless = isinstance(optimizer, optimizers.SGD) and optimizer.momentum == 0  # no buffer in PyTorch
        source = execute(native_source(graph), "torch", graph)
        self.filename = "<{}>".format(source.__name__)
        model, found = source.Model(), places(graph)
        if self.shipped:
            model, found = self.shipped.replace(model, graph)
        self.model = model.to(self.device, self.dtype)
        if self.layout == "channels_last":
            self.model = self.model.to(memory_format=torch.channels_last)
        self.forward = self.mode.inference(self.model)
        self.objective: Any = self.mode.training(source.training_loss) if graph.losses and self.trains else None
        self.optimizer: Any = self._updater(optimizer) if optimizer else None
        tensors = self.model.state_dict(keep_vars=True)
        self.parameters = {name: tensors[place.path] for name, place in found.items()
                           if isinstance(tensors[place.path], torch.nn.Parameter)}
        self.places = {("parameter/" if name in self.parameters else "state/") + name: place
                       for name, place in found.items()}
        return {name: tensors[place.path] for name, place in self.places.items()}

    def _updater(self, optimizer: optimizers.Optimizer) -> Any:
        """Whether it loops or uses foreach or fused kernels is PyTorch's choice unless the latter are asked for."""
        if not self.fused:
            return _optimizer(optimizer, self.model.parameters(), {})
        try:
            return _optimizer(optimizer, self.model.parameters(), {"fused": True})
        except (TypeError, RuntimeError) as error:
            raise Unsupported("this PyTorch ({}) has no fused {} here: {}".format(
                torch.__version__, type(optimizer).__name__, error)) from error

    def differences(self) -> Differences:
        return [*self.mode.differences(), *(self.shipped.differences if self.shipped else ())]

    def put(self, arrays: Given) -> None:
        super().put(self.shipped.weights or arrays if self.shipped else arrays)
        self.model.zero_grad()
        self.mode.renew()

    def _read(self, name: str, handle: Any) -> np.ndarray:
        return self.places[name].canonical(_array(handle))

    def _write(self, name: str, handle: Any, array: np.ndarray) -> None:
        with torch.no_grad():
            handle.copy_(self._tensor(self.places[name].native(array)))

    def _count(self) -> None:
        if isinstance(self.rule, optimizers.Adam):
            for parameter in self.parameters.values():
                self.optimizer.state[parameter]["step"] = self._step_count()

    def _step_count(self) -> Any:
        """Adam's own counter: a tensor since PyTorch 1.12."""
        if "foreach" not in self.optimizer.defaults:
            return self.steps
        return torch.tensor(float(self.steps), device=self.device if self.fused else "cpu")  # where its kernel reads it

    def _slots(self) -> Iterator[Slot]:
        """Made with zeros where there is none: a zero momentum buffer takes the first gradient as it is, as PyTorch's
        missing one does."""
        for slot in self.rule.slots if self.rule and not self.memoryless else ():
            for name, parameter in self.parameters.items():
                state = self.optimizer.state[parameter]
                if SLOTS[slot] not in state:
                    state[SLOTS[slot]] = torch.zeros_like(parameter.detach())
                yield slot, name, state[SLOTS[slot]], 1.0

    def get(self) -> Arrays:
        arrays = super().get()
        if self.memoryless:  # its velocity is the last gradient
            arrays.update(self._gradients("velocity/"))
        return arrays

    def _gradients(self, prefix: str) -> Arrays:
        return {prefix + name: self.places["parameter/" + name].canonical(_gradient(parameter))
                for name, parameter in self.parameters.items()}

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        return self._tensor(array)

    def _tensor(self, array: np.ndarray) -> Any:
        """A copy on the device: floats in the precision of the setup, integers as PyTorch's indices."""
        dtype = {"f": self.dtype, "b": getattr(torch, "bool", torch.uint8)}.get(array.dtype.kind, torch.int64)
        tensor = torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=self.device)
        image = self.layout == "channels_last" and tensor.dim() == 4
        return tensor.contiguous(memory_format=torch.channels_last) if image else tensor

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        if not self.model.training:  # asked, not set, at each step: setting it walks over every module
            self.model.train()
        self.optimizer.zero_grad()
        loss, _ = self.objective(self.model, *batch)
        loss.backward()
        self.optimizer.step()
        return loss

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        if self.model.training:
            self.model.eval()
        with INFERENCE():
            return self.forward(*inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        self.model.train()
        self.model.zero_grad()
        loss, outputs = self.objective(self.model, *batch)
        loss.backward()
        arrays = self._gradients("gradient/")
        self.model.zero_grad()
        return dict(arrays, loss=_array(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def read(self, handle: Any) -> Arrays:
        if torch.is_tensor(handle) and handle.dim() == 0:  # outputs have a batch axis, the loss has none
            return {"loss": _array(handle)}
        return {name: _array(tensor) for name, tensor in self._named(handle).items()}

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_torch.device_memory(torch, self.device)

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("torch has no probe {}".format(name))
        operation = self.operations.setdefault(name, self.mode.operation(PROBES[name]))
        with INFERENCE():
            return {"result": _array(operation(*map(self._tensor, arrays.values())))}

    def evidence(self) -> Dict[str, Any]:
        # A weight of one input channel or of a 1x1 kernel is in both layouts at once.
        kernels = [tensor for tensor in self.parameters.values()
                   if tensor.dim() == 4 and tensor.shape[1] > 1 and tensor.shape[2:].numel() > 1]
        contiguous = all(kernel.is_contiguous() for kernel in kernels)
        found: Dict[str, Any] = {"layout": "contiguous" if contiguous else "channels_last"}
        return dict(found, compiled=self.mode.compiled, **self.mode.evidence(self))

    def compilations(self) -> Optional[int]:
        return self.mode.compilations(self)  # type: ignore[no-any-return]
