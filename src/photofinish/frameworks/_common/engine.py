"""What every inference engine has in common; a framework's own file says how it loads a model and runs it."""

import hashlib
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Given, Setup, Unsupported
from photofinish.frameworks._common.contestant import Contestant
from photofinish.graph import Graph
from photofinish.layers import Spec
from photofinish.optimizers import Optimizer

PROBES = {"matmul": True, "conv": True, "multiply": False}  # whether the second operand is constant, as a weight is


class Engine(Contestant):
    """Runs the graph in an engine's session, in float32. It trains nothing: an optimizer is ignored.

    Weights are constants of the model, as an engine's user has them, so that it may fold and pack them: `put` writes
    them into the model, anew where the arrays are others than before, and the next inference makes the session of it.
    So what an engine takes to compile is in its first step, where the compilers of other frameworks have it too.
    """

    modes = ("default",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.arrays: Arrays = {}
        self.digest = ""  # of those arrays
        self.model: Any = None  # with these weights, until a session is made of it
        self.made: Any = None  # the session
        self.probes: Dict[str, Any] = {}  # sessions of single operations

    def written(self, arrays: Arrays) -> Any:
        """The model with these weights, as `load` takes it."""
        raise NotImplementedError

    def operation(self, name: str, inputs: Arrays, constants: Arrays) -> Any:
        """The model of one of PROBES, as `load` takes it: the constants come after the inputs."""
        raise NotImplementedError

    def load(self, model: Any) -> Any:
        """A session of the engine, in this contender's settings."""
        raise NotImplementedError

    def hold(self, arrays: Arrays) -> Any:
        """A batch as `run` wants it."""
        return arrays

    def run(self, session: Any, batch: Any) -> Any:
        """What the session makes of a batch."""
        raise NotImplementedError

    def values(self, handle: Any) -> List[np.ndarray]:
        """What `run` returned as arrays: the model's outputs in order."""
        return list(handle)

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self.graph = graph
        self.batch = batch
        self.inputs: Sequence[Tuple[str, Spec]] = graph.inputs
        absent = {name for node in graph.nodes if node.training_only for name in node.outputs}
        self.outputs = [name for name in graph.outputs if name not in absent]
        self.digest, self.model, self.made = "", None, None

    def put(self, arrays: Given) -> None:
        kept = {name: values for name, values in arrays.items() if name.startswith(("parameter/", "state/"))}
        found = digest(kept)
        if found != self.digest:
            self.model = self.made = None  # first, so that there are never two of them
            self.model = self.written(kept)
            self.arrays, self.digest = kept, found

    @property
    def session(self) -> Any:
        """The engine's session with the weights that were put."""
        if self.made is None:
            self.made, self.model = self.load(self.model), None
        return self.made

    def get(self) -> Arrays:
        arrays = {name: np.array(values, np.float32) for name, values in self.arrays.items()}
        return dict(arrays, step=np.array(0, np.int64))

    def feed(self, arrays: Arrays) -> Any:
        return self.hold({name: np.ascontiguousarray(arrays[name], spec.dtype) for name, spec in self.inputs})

    def zeros(self) -> Arrays:
        """A batch of nothing."""
        return {name: np.zeros((self.batch,) + tuple(spec.shape), spec.dtype) for name, spec in self.inputs}

    def infer(self, batch: Any) -> Any:
        return self.run(self.session, batch)

    def train_step(self, batch: Any) -> Any:
        raise Unsupported("{} runs inference only".format(self.title))

    def gradients(self, batch: Any) -> Arrays:
        raise Unsupported("{} runs inference only".format(self.title))

    def wait(self, handle: Any) -> None:
        """Nothing to wait for: the engine has finished when it returns."""

    def read(self, handle: Any) -> Arrays:
        return {"output/" + name: np.array(each) for name, each in zip(self.outputs, self.values(handle))}

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("{} has no probe {}".format(self.title, name))
        given = {key: np.ascontiguousarray(values, np.float32) for key, values in arrays.items()}
        fixed = {key: given.pop(key) for key in list(given)[1:]} if PROBES[name] else {}
        key = " ".join([name, digest(fixed)] + [str(each.shape) for each in given.values()])
        if key not in self.probes:
            self.probes = {key: self.load(self.operation(name, given, fixed))}  # the last one alone
        return {"result": np.array(self.values(self.run(self.probes[key], self.hold(given)))[0])}


def digest(arrays: Arrays) -> str:
    """SHA-256 of names, shapes and values."""
    found = hashlib.sha256()
    for name, values in sorted(arrays.items()):
        found.update("{} {} {}\n".format(name, values.dtype, values.shape).encode())
        found.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return found.hexdigest()
