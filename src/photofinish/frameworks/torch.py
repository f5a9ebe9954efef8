# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy"]
# [tool.photofinish]
# title = "PyTorch"
# modes = ["eager", "compile", "max-autotune", "trace", "export", "bf16", "cudagraphs"]
# tasks = { trace = ["infer"], export = ["infer"] }
# precisions = { bf16 = "bfloat16" }
# mode-devices = { cudagraphs = ["cuda"] }
# download = "209 MB"
# disk = "990 MB"
# devices = ["cpu", "cuda"]
# options = { layout = ["contiguous", "channels_last"], build = [] }
# builds = { torchvision = "torchvision==0.28.0", timm = "timm", transformers = "transformers" }
# environment = { TORCHINDUCTOR_CACHE_DIR = "{cache}/inductor", TRITON_CACHE_DIR = "{cache}/triton" }
# [tool.photofinish.compiles]
# compile = "seconds"
# max-autotune = "minutes"
# trace = "seconds"
# export = "seconds"
# cudagraphs = "seconds"
# ///
"""PyTorch: a graph is written out as the nn.Module a person would write, and that source is what runs.

So `photofinish show --as torch` prints the very code that races. The writing is in _torch/, how it runs in each mode in
_torch/modes/.
"""

import linecache
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch.nn import functional

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Differences, Setup, Unsupported
from photofinish.frameworks._common import on_torch
from photofinish.frameworks._common.modes import find
from photofinish.frameworks._torch.shipped import Shipped
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.weights import Place, places
from photofinish.graph import Graph, Node

__all__ = ["Contestant", "native_source"]


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


def _load(graph: Graph, filename: str) -> Any:
    """The source of a graph as a module that tracebacks and compilers can read."""
    source = native_source(graph)
    module: Any = types.ModuleType(filename[1:-1])
    sys.modules[module.__name__] = module
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), vars(module))
    return module


def _optimizer(optimizer: optimizers.Optimizer, parameters: Any) -> Any:
    """torch.optim's own; whether it loops or uses foreach or fused kernels is left to PyTorch."""
    if isinstance(optimizer, optimizers.SGD):
        return torch.optim.SGD(parameters, lr=optimizer.learning_rate, momentum=optimizer.momentum)
    return torch.optim.Adam(parameters, lr=optimizer.learning_rate, betas=(optimizer.beta1, optimizer.beta2),
                            eps=optimizer.epsilon)


class Batch(NamedTuple):
    """A batch on the device; `all` has the targets behind the inputs."""

    inputs: Tuple[Any, ...]
    all: Tuple[Any, ...]


class Population:
    """The running variance of a BatchNorm that the graph keeps as the population's (n) where PyTorch keeps the
    sample's (n - 1). Both decay from the one that was put, so they differ by n / (n - 1) in the rest alone."""

    def __init__(self, node: Node, graph: Graph, batch: int, tensors: Dict[str, Any], place: Place) -> None:
        (spec,) = graph.input_specs(node)
        self.count = batch * int(np.prod(spec.shape)) // spec.size("C")
        self.momentum = node.layer.momentum  # type: ignore[attr-defined]
        self.variance = tensors[place.path]
        self.updates = tensors[place.path.rpartition(".")[0] + ".num_batches_tracked"]

    def begin(self) -> None:
        """From here on, updates count from the present variance."""
        self.start = self.variance.clone().double()
        self.updates.zero_()

    def settle(self) -> None:
        """Turns what training has added since `begin` into the population's."""
        if int(self.updates):
            kept = self.momentum ** int(self.updates) * self.start
            self.variance.copy_(kept + (self.variance.double() - kept) * (self.count - 1) / self.count)
            self.begin()


def _array(tensor: Any) -> np.ndarray:
    """A copy in canonical layout; NumPy has no bfloat16, and float32 holds all its values."""
    shown = tensor.detach().float() if tensor.dtype == BFLOAT16 else tensor.detach()
    return np.array(shown.cpu().numpy(), order="C")


def _gradient(parameter: Any) -> np.ndarray:
    """Zeros where none arrived."""
    return _array(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)


class Contestant(frameworks.Contestant):
    """The loss, inference and the audit's probes run as the mode says, the optimizer as torch.optim ships it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.mode = find("torch", setup.mode)(torch, setup)
        options = dict(setup.options)
        self.layout = options.pop("layout", "contiguous")
        self.shipped = Shipped(options.pop("build"), setup.names) if "build" in options else None
        if options or self.layout not in ("contiguous", "channels_last"):
            raise Unsupported("torch takes layout=contiguous or channels_last, not {}".format(setup.options))
        if setup.precision not in FLOATS:
            raise Unsupported("torch trains in float32 or float64 here, not {}".format(setup.precision))
        if setup.device.split(":")[0] not in ("cpu", "cuda"):
            raise Unsupported("torch runs on cpu or cuda here, not {}".format(setup.device))
        self.device = torch.device(setup.device)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise Unsupported("this PyTorch ({}) sees no CUDA device".format(torch.__version__))
        self.dtype = FLOATS[setup.precision]
        self.operations: Dict[str, Any] = {}  # the probes that were used, in this mode
        torch.manual_seed(setup.seed)
        if setup.regime == "matched":
            on_torch.match(torch, setup.threads)

    def facts(self) -> Dict[str, Any]:
        return dict(
            {name: _ask(path) for name, path in FACTS.items()}, precision=self.setup.precision, layout=self.layout,
            device=torch.cuda.get_device_name(self.device) if self.device.type == "cuda" else "cpu",
            float32=on_torch.float32(torch),
            optimizer="torch.optim with foreach and fused as PyTorch chooses", **self.mode.facts(),
            **(self.shipped.facts() if self.shipped else {}))

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        self.graph = graph
        self.batch = batch
        self.rule = optimizer = optimizer if self.mode.trains else None
        self.memoryless = isinstance(optimizer, optimizers.SGD) and optimizer.momentum == 0  # no buffer in PyTorch
        self.filename = "<photofinish_torch_{}>".format(graph.digest[:12])
        source = _load(graph, self.filename)
        model, self.places = source.Model(), places(graph)
        if self.shipped:
            model, self.places = self.shipped.replace(model, graph)
        self.model = model.to(self.device, self.dtype)
        if self.layout == "channels_last":
            self.model = self.model.to(memory_format=torch.channels_last)
        self.forward = self.mode.inference(self.model)
        trained = graph.losses and self.mode.trains
        self.objective: Any = self.mode.training(source.training_loss) if trained else None
        self.optimizer: Any = _optimizer(optimizer, self.model.parameters()) if optimizer else None
        tensors = self.model.state_dict(keep_vars=True)
        found = {name: tensors[place.path] for name, place in self.places.items()}
        self.parameters = {name: each for name, each in found.items() if isinstance(each, torch.nn.Parameter)}
        self.state = {name: each for name, each in found.items() if name not in self.parameters}
        population = [(node, dict(node.state)["running_variance"]) for node in graph.nodes
                      if getattr(node.layer, "running_variance", "") == "population"]
        self.populations = [Population(node, graph, batch, tensors, self.places[name]) for node, name in population
                            if name in self.places]
        self.steps = 0

    def differences(self) -> Differences:
        return [*self.mode.differences(), *(self.shipped.differences if self.shipped else ())]

    def put(self, arrays: Arrays) -> None:
        """In place, so that compiled code stays valid."""
        arrays = self.shipped.weights or arrays if self.shipped else arrays
        with torch.no_grad():
            for group, tensors in (("parameter/", self.parameters), ("state/", self.state)):
                for name, tensor in tensors.items():
                    self._store(tensor, name, arrays[group + name])
            self.model.zero_grad()
            for slot, name, tensor in self._slots():
                key = slot + "/" + name
                self._store(tensor, name, arrays[key]) if key in arrays else tensor.zero_()
        self.mode.renew()
        for population in self.populations:
            population.begin()
        self.steps = int(arrays.get("step", 0))
        if isinstance(self.rule, optimizers.Adam):
            for parameter in self.parameters.values():
                self.optimizer.state[parameter]["step"] = self._step_count()

    def _store(self, tensor: Any, name: str, array: np.ndarray) -> None:
        """Puts what belongs to a parameter or state of that name into its own tensor, or into one like it."""
        tensor.copy_(self._tensor(self.places[name].native(array)))

    def _step_count(self) -> Any:
        """Adam's own counter: a tensor since PyTorch 1.12."""
        return torch.tensor(float(self.steps)) if "foreach" in self.optimizer.defaults else self.steps

    def _slots(self) -> Iterator[Tuple[str, str, Any]]:
        """(slot, parameter name, tensor) of the optimizer, made with zeros where it is not there yet: a zero
        momentum buffer takes the first gradient as it is, as PyTorch's missing one does."""
        for slot in self.rule.slots if self.rule and not self.memoryless else ():
            for name, parameter in self.parameters.items():
                state = self.optimizer.state[parameter]
                if SLOTS[slot] not in state:
                    state[SLOTS[slot]] = torch.zeros_like(parameter.detach())
                yield slot, name, state[SLOTS[slot]]

    def get(self) -> Arrays:
        self._settle()
        kept = [("parameter", name, _array(tensor)) for name, tensor in self.parameters.items()]
        kept += [("state", name, _array(tensor)) for name, tensor in self.state.items()]
        kept += [(slot, name, _array(tensor)) for slot, name, tensor in self._slots()]
        if self.memoryless:
            kept += [("velocity", name, _gradient(tensor)) for name, tensor in self.parameters.items()]
        arrays = {group + "/" + name: self.places[name].canonical(array) for group, name, array in kept}
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _settle(self) -> None:
        for population in self.populations:
            population.settle()

    def feed(self, arrays: Arrays) -> Batch:
        inputs, targets = (tuple(self._tensor(arrays[name]) for name, _ in group if name in arrays)
                           for group in (self.graph.inputs, self.graph.targets))
        return Batch(inputs, inputs + targets)

    def _tensor(self, array: np.ndarray) -> Any:
        """A copy on the device: floats in the precision of the setup, integers as PyTorch's indices."""
        dtype = {"f": self.dtype, "b": getattr(torch, "bool", torch.uint8)}.get(array.dtype.kind, torch.int64)
        tensor = torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=self.device)
        image = self.layout == "channels_last" and tensor.dim() == 4
        return tensor.contiguous(memory_format=torch.channels_last) if image else tensor

    def train_step(self, batch: Batch) -> Any:
        if self.objective is None or self.rule is None:
            raise self._refusal("step")
        if not self.model.training:  # asked, not set, at each step: setting it walks over every module
            self.model.train()
        self.optimizer.zero_grad()
        loss, _ = self.objective(self.model, *batch.all)
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        return loss

    def infer(self, batch: Batch) -> Any:
        if self.model.training:
            self._settle()
            self.model.eval()
        with INFERENCE():
            return self.forward(*batch.inputs)

    def _refusal(self, what: str) -> Unsupported:
        return Unsupported("torch:{} runs inference only".format(self.setup.mode) if not self.mode.trains else
                           "no {} without a loss{}".format(what, " and an optimizer" if what == "step" else ""))

    def gradients(self, batch: Batch) -> Arrays:
        if self.objective is None:
            raise self._refusal("gradients")
        buffers = [buffer.clone() for buffer in self.model.buffers()]
        self.model.train()
        self.model.zero_grad()
        loss, outputs = self.objective(self.model, *batch.all)
        loss.backward()
        arrays = {"gradient/" + name: self.places[name].canonical(_gradient(tensor))
                  for name, tensor in self.parameters.items()}
        self.model.zero_grad()
        for buffer, before in zip(self.model.buffers(), buffers):
            buffer.copy_(before)
        return dict(arrays, loss=_array(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def read(self, handle: Any) -> Arrays:
        if torch.is_tensor(handle) and handle.dim() == 0:  # outputs have a batch axis, the loss has none
            return {"loss": _array(handle)}
        outputs = (handle,) if torch.is_tensor(handle) else handle
        return {"output/" + name: _array(tensor) for name, tensor in zip(self.graph.outputs, outputs)
                if tensor is not None}

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

    def kernels(self) -> List[str]:
        """The oneDNN and cuDNN operators that one inference calls."""
        zeros = {name: np.zeros((self.batch,) + spec.shape, spec.dtype) for name, spec in self.graph.inputs}
        batch = self.feed(zeros)
        with torch.autograd.profiler.profile() as profile:
            self.wait(self.infer(batch))
        names = {event.name for event in profile.function_events}
        return sorted(name for name in names if "mkldnn" in name or "onednn" in name or "cudnn" in name)
