# /// script
# requires-python = ">=3.10"
# dependencies = ["torch==2.13.0", "numpy"]
# [tool.photofinish]
# title = "PyTorch"
# modes = ["eager", "compile"]
# devices = ["cpu", "cuda"]
# options = { layout = ["contiguous", "channels_last"] }
# ///
"""PyTorch: a graph is written out as the nn.Module a person would write, and that source is what runs.

So `photofinish show --as torch` prints the very code that races: nested modules whose state dictionary
has the canonical names, a straight-line forward, and the loss as a function.
"""

import linecache
import sys
import types
import warnings
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch.nn import functional

from photofinish import frameworks, optimizers
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._torch_source import native_path, native_source
from photofinish.graph import Graph, Node

__all__ = ["Contestant", "native_source"]

def _load(source: str, digest: str) -> Any:
    """The source as a module that tracebacks and compilers can read."""
    name = "photofinish_torch_" + digest[:12]
    module: Any = types.ModuleType(name)
    sys.modules[name] = module
    filename = "<{}>".format(name)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), vars(module))
    return module


FLOATS = {"float32": torch.float32, "float64": torch.float64}
SLOTS = {"velocity": "momentum_buffer", "moment1": "exp_avg", "moment2": "exp_avg_sq"}

PROBES: Dict[str, Callable[..., Any]] = {
    "matmul": lambda a, b: a @ b,
    "conv": lambda image, weight: functional.conv2d(image, weight, padding=1),
    "multiply": lambda a, b: a * b,
}


def _float32_backends() -> Dict[str, Any]:
    """Every switch that may round float32 operands to TF32 or bfloat16 in this version, by name."""
    backends = torch.backends
    new = {"cuda.matmul": getattr(getattr(backends, "cuda", None), "matmul", None)}
    for library in ("cudnn", "mkldnn"):
        for operation in ("matmul", "conv", "rnn"):
            new["{}.{}".format(library, operation)] = getattr(getattr(backends, library), operation, None)
    return {name: switch for name, switch in new.items() if getattr(switch, "fp32_precision", None) is not None}


def _be_strict() -> None:
    """Float32 operations compute in float32."""
    switches = _float32_backends()
    for switch in switches.values():
        switch.fp32_precision = "ieee"
    if not switches:  # before PyTorch 2.9
        torch.backends.cudnn.allow_tf32 = False
        if hasattr(torch, "set_float32_matmul_precision"):
            torch.set_float32_matmul_precision("highest")


QUIET = (  # what torch.compile says of PyTorch's own code, and its advice to allow TF32
    "`torch.jit.script_method` is deprecated", "TensorFloat32 tensor cores")


def _optimizer(optimizer: optimizers.Optimizer, parameters: Any) -> Any:
    """torch.optim's own, with PyTorch's choice of implementation (foreach or not) left alone."""
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

    def __init__(self, node: Node, graph: Graph, batch: int, tensors: Dict[str, Any]) -> None:
        (spec,) = graph.input_specs(node)
        self.count = batch * int(np.prod(spec.shape)) // spec.size("C")
        self.momentum = node.layer.momentum  # type: ignore[attr-defined]
        self.variance = tensors[native_path(dict(node.state)["running_variance"])]
        self.updates = tensors[native_path(node.name) + ".num_batches_tracked"]

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
    """A copy in canonical layout."""
    return np.array(tensor.detach().cpu().numpy(), order="C")


def _gradient(parameter: Any) -> np.ndarray:
    """Zeros where none arrived."""
    return _array(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)


class Contestant(frameworks.Contestant):
    """PyTorch in mode "eager" or "compile". Mode compile is torch.compile of the training loss and, for
    inference, of the model; backward follows the forward, the optimizer stays as torch.optim ships it."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode not in ("eager", "compile") or (setup.mode == "compile" and not hasattr(torch, "compile")):
            raise Unsupported("PyTorch {} has no mode {!r}".format(torch.__version__, setup.mode))
        options = dict(setup.options)
        self.layout = options.pop("layout", "contiguous")
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
        self.memory_format = torch.channels_last if self.layout == "channels_last" else torch.contiguous_format
        for message in QUIET:
            warnings.filterwarnings("ignore", message=message)
        torch.manual_seed(setup.seed)
        if setup.regime == "matched":
            torch.set_num_threads(setup.threads)
            _be_strict()

    def facts(self) -> Dict[str, Any]:
        cuda = self.device.type == "cuda"
        return {
            "version": torch.__version__, "git": torch.version.git_version, "threads": torch.get_num_threads(),
            "interop_threads": torch.get_num_interop_threads(), "onednn": torch.backends.mkldnn.is_available(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(), "precision": self.setup.precision,
            "float32": {name: switch.fp32_precision for name, switch in _float32_backends().items()},
            "device": torch.cuda.get_device_name(self.device) if cuda else "cpu",
            "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version() if cuda else None,
            "cudnn_benchmark": torch.backends.cudnn.benchmark, "layout": self.layout,
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "optimizer": "torch.optim, foreach and fused as PyTorch chooses",
        }

    def build(self, graph: Graph, batch: int, optimizer: Optional[optimizers.Optimizer] = None) -> None:
        self.graph = graph
        self.batch = batch
        self.rule = optimizer
        source = _load(native_source(graph), graph.digest)
        self.model = source.Model().to(self.device, self.dtype).to(memory_format=self.memory_format)
        self.forward = self._in_mode(self.model)
        self.objective: Any = self._in_mode(source.training_loss) if graph.losses else None
        self.optimizer: Any = _optimizer(optimizer, self.model.parameters()) if optimizer else None
        tensors = self.model.state_dict(keep_vars=True)
        self.parameters = {name: tensors[native_path(name)] for name in graph.parameters}
        self.state = {name: tensors[native_path(name)] for name in graph.state}
        self.populations = [Population(node, graph, batch, tensors) for node in graph.nodes
                            if getattr(node.layer, "running_variance", "") == "population"]
        self.steps = 0

    def _in_mode(self, function: Any) -> Any:
        return torch.compile(function, dynamic=False) if self.setup.mode == "compile" else function

    def put(self, arrays: Arrays) -> None:
        """In place, so that compiled code stays valid."""
        with torch.no_grad():
            for group, tensors in (("parameter/", self.parameters), ("state/", self.state)):
                for name, tensor in tensors.items():
                    tensor.copy_(self._tensor(arrays[group + name]))
            self.model.zero_grad()
            for slot, name, tensor in self._slots():
                key = slot + "/" + name
                tensor.copy_(self._tensor(arrays[key])) if key in arrays else tensor.zero_()
        for population in self.populations:
            population.begin()
        self.steps = int(arrays.get("step", 0))
        if isinstance(self.rule, optimizers.Adam):
            for parameter in self.parameters.values():
                self.optimizer.state[parameter]["step"] = self._step_count()

    def _step_count(self) -> Any:
        """Adam's own counter: a tensor since PyTorch 1.12."""
        return torch.tensor(float(self.steps)) if "foreach" in self.optimizer.defaults else self.steps

    def _slots(self) -> Iterator[Tuple[str, str, Any]]:
        """(slot, parameter name, tensor) of the optimizer's state, made with zeros where it is not there yet:
        a zero momentum buffer takes the first gradient as it is, as PyTorch's missing one does."""
        for slot in self.rule.slots if self.rule else ():
            for name, parameter in self.parameters.items():
                state = self.optimizer.state[parameter]
                yield slot, name, state.setdefault(SLOTS[slot], torch.zeros_like(parameter.detach()))

    def get(self) -> Arrays:
        self._settle()
        arrays = {"parameter/" + name: _array(tensor) for name, tensor in self.parameters.items()}
        arrays.update({"state/" + name: _array(tensor) for name, tensor in self.state.items()})
        for slot, name, tensor in self._slots():
            gradient = self.parameters[name].grad
            unused = getattr(self.rule, "momentum", None) == 0 and gradient is not None  # then the buffer is idle
            arrays[slot + "/" + name] = _array(gradient if unused else tensor)
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
        dtype = {"f": self.dtype, "b": torch.bool}.get(array.dtype.kind, torch.int64)
        tensor = torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=self.device)
        return tensor.contiguous(memory_format=self.memory_format) if tensor.dim() == 4 else tensor

    def train_step(self, batch: Batch) -> Any:
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
        with torch.inference_mode():
            return self.forward(*batch.inputs)

    def gradients(self, batch: Batch) -> Arrays:
        buffers = [buffer.clone() for buffer in self.model.buffers()]
        self.model.train()
        self.model.zero_grad()
        loss, outputs = self.objective(self.model, *batch.all)
        loss.backward()
        arrays = {"gradient/" + name: _gradient(tensor) for name, tensor in self.parameters.items()}
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
        if self.device.type == "cpu":
            return None
        return {"now": torch.cuda.memory_allocated(self.device), "peak": torch.cuda.max_memory_allocated(self.device)}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("torch has no probe {}".format(name))
        with torch.inference_mode():
            return {"result": _array(self._in_mode(PROBES[name])(*map(self._tensor, arrays.values())))}

    def evidence(self) -> Dict[str, Any]:
        weights = [tensor for tensor in self.parameters.values() if tensor.dim() == 4 and tensor.shape[1] > 1]
        found = {"layout": "channels_last" if weights and all(
            weight.is_contiguous(memory_format=torch.channels_last) for weight in weights) else "contiguous",
            "compiled": self.setup.mode == "compile"}
        if self.setup.mode == "compile":
            return dict(found, **_compilations())
        return dict(found, kernels=self._kernels())

    def _kernels(self) -> List[str]:
        """The oneDNN and cuDNN operators that one inference calls."""
        zeros = {name: np.zeros((self.batch,) + spec.shape, spec.dtype) for name, spec in self.graph.inputs}
        batch = self.feed(zeros)
        with torch.autograd.profiler.profile() as profile:
            self.wait(self.infer(batch))
        names = {event.name for event in profile.function_events}
        return sorted(name for name in names if "mkldnn" in name or "onednn" in name or "cudnn" in name)


def _compilations() -> Dict[str, Any]:
    """What torch.compile has done in this process so far."""
    from torch._dynamo import utils
    from torch._inductor import metrics
    return {"graphs": utils.counters["stats"]["unique_graphs"],
            "graph_breaks": sum(utils.counters["graph_break"].values()),
            "recompiles": sum(1 for each in utils.get_compilation_metrics() if each.recompile_reason),
            "fused_kernels": metrics.generated_kernel_count}
