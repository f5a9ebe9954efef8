"""What every inference engine that is fed with ONNX has in common; a framework's own file says how it runs."""

import hashlib
from typing import Any, Dict, List, Optional

import numpy as np

from photofinish import frameworks
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._onnx import model
from photofinish.frameworks._onnx.source import write
from photofinish.frameworks._onnx.use import Program
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

MODE = "default"


class Engine(frameworks.Contestant):
    """Runs the graph's ONNX model in an engine's session, in float32. It trains nothing: an optimizer is ignored.

    Weights are initializers of the model, as an engine's user has them, so that it may fold and pack them: `put`
    makes the session, anew where the arrays are others than before. So what an engine takes to compile a model counts
    as loading its weights.
    """

    title = ""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode != MODE:
            raise Unsupported("{} has no mode {!r}".format(self.title, setup.mode))
        if setup.precision != "float32":
            raise Unsupported("{} runs the graph in float32 here, not {}".format(self.title, setup.precision))
        self.session: Any = None
        self.arrays: Arrays = {}
        self.loaded = ""  # the digest of the arrays in the session
        self.probes: Dict[str, Any] = {}  # sessions of single operations

    def load(self, file: bytes) -> Any:
        """A session of the engine with a serialised model, in this contender's settings."""
        raise NotImplementedError

    def adapted(self, program: Program) -> Program:
        """The model in other words where the engine gets these wrong."""
        return program

    def run(self, session: Any, batch: Any) -> Any:
        """What the session makes of a batch: its outputs in order, by number."""
        raise NotImplementedError

    def hold(self, arrays: Arrays) -> Any:
        """A batch as `run` wants it."""
        return arrays

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self.graph = graph
        self.program = self.adapted(write(graph, batch))
        self.session, self.loaded = None, ""

    def put(self, arrays: Arrays) -> None:
        kept = {name: values for name, values in arrays.items() if name.startswith(("parameter/", "state/"))}
        found = digest(kept)
        if found != self.loaded:
            self.session = None  # first, so that there are never two of them
            self.session = self.load(self.file(kept))
            self.arrays, self.loaded = kept, found

    def file(self, arrays: Arrays) -> bytes:
        """The model with these weights."""
        return model.serialised(self.graph, self.program, arrays)

    def get(self) -> Arrays:
        arrays = {name: np.array(values, np.float32) for name, values in self.arrays.items()}
        return dict(arrays, step=np.array(0, np.int64))

    def feed(self, arrays: Arrays) -> Any:
        return self.hold({name: np.ascontiguousarray(arrays[name], spec.dtype) for name, spec in self.program.inputs})

    def infer(self, batch: Any) -> Any:
        return self.run(self.session, batch)

    def train_step(self, batch: Any) -> Any:
        raise Unsupported("{} runs inference only".format(self.title))

    def gradients(self, batch: Any) -> Arrays:
        raise Unsupported("{} runs inference only".format(self.title))

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: the engine has finished when it returns."""

    def read(self, handle: Any) -> Arrays:
        values = self.values(handle)
        return {"output/" + name: np.array(each) for (name, _), each in zip(self.program.outputs, values)}

    def values(self, handle: Any) -> List[np.ndarray]:
        """The outputs behind a handle as arrays."""
        return list(handle)

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        """A product with a constant, as with a model's weight, and for "multiply" of two inputs."""
        if name not in OPERATIONS:
            raise Unsupported("{} has no probe {}".format(self.title, name))
        kind, constant, attributes = OPERATIONS[name]
        given = {key: np.ascontiguousarray(values, np.float32) for key, values in arrays.items()}
        fixed = {key: given.pop(key) for key in list(given)[1:]} if constant else {}
        key = " ".join([name, digest(fixed)] + [str(each.shape) for each in given.values()])
        if key not in self.probes:
            self.probes = {key: self.load(model.operation(kind, given, fixed, **attributes))}  # the last one alone
        values = self.values(self.run(self.probes[key], self.hold(given)))
        return {"result": np.array(values[0])}


OPERATIONS: Dict[str, Any] = {  # probe -> its operator, whether the second operand is a constant, attributes
    "matmul": ("MatMul", True, {}),
    "conv": ("Conv", True, {"pads": (1, 1, 1, 1)}),
    "multiply": ("Mul", False, {}),
}


def digest(arrays: Arrays) -> str:
    """SHA-256 of names, shapes and values."""
    found = hashlib.sha256()
    for name, values in sorted(arrays.items()):
        found.update("{} {} {}\n".format(name, values.dtype, values.shape).encode())
        found.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return found.hexdigest()
