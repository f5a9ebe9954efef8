"""The contract between a framework and the house. One file per framework, found by listing this folder.

Each file starts with a header readable without importing (PEP 723: Python range, packages, modes,
devices, options) and holds one class named `Contestant`. Framework files never import each other.
"""

import importlib
import importlib.util
import pkgutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Type

import numpy as np

from photofinish.graph import Graph
from photofinish.layers import layer_fields
from photofinish.likeness import nearest
from photofinish.optimizers import Optimizer
from photofinish.values import TracedStep

Arrays = Dict[str, np.ndarray]
Given = Mapping[str, np.ndarray]  # to load from: each may be made when it is asked for
Differences = List[Tuple[str, str, str]]  # what differs, in the graph, in the contender
AWAKE = 0.001  # seconds before a moment is due: what the system may wake a sleeper late by
MISFIT = "the first array that does not fit"


@dataclass(frozen=True)
class Setup:
    """What a contender must run with. `regime` "matched": strict float32, stated threads, the same
    allocator effect; "out-of-the-box": the framework's own defaults are left alone. `names` are what the
    model that the option `build` asks for calls the layers of the graph. Of a strategy this is process `rank` of
    `world`, which find each other in the folder `meeting`."""

    mode: str
    options: Dict[str, str] = field(default_factory=dict)
    device: str = "cpu"
    threads: int = 1
    precision: str = "float32"  # or "float64": a referee's reference
    regime: str = "matched"
    seed: int = 0
    names: Dict[str, str] = field(default_factory=dict)
    rank: int = 0
    world: int = 1
    meeting: str = ""


def part_of(arrays: Arrays, setup: Setup) -> Arrays:
    """The samples of a batch that are this process': as many as any other's, in order. Raises Unsupported."""
    size = len(next(iter(arrays.values()))) if arrays else 0
    if size % setup.world:
        raise Unsupported("a batch of {} cannot be shared equally by {} processes".format(size, setup.world))
    each = size // setup.world
    return {name: values[setup.rank * each:(setup.rank + 1) * each] for name, values in arrays.items()}


class Unsupported(Exception):
    """This framework cannot do that; the message is the reason shown in the support matrix."""


class WrongUse(Unsupported):
    """Nor could another: what its user spelled is not there. The message says what may be meant."""


class Contestant:
    """One framework in one worker process. Created after import; verbs are called in this order:
    build, put, feed, then train_step or infer. Where the header says that a mode has the task `infer` alone, train_step
    and gradients raise Unsupported.

    All arrays that cross this interface are NumPy, in canonical layout (batch axis first, channels
    first) and canonical names: "parameter/<name>", "state/<name>", "<slot>/<parameter>", "step".
    """

    clock = staticmethod(time.perf_counter)  # the fake framework scripts its own
    period = 1  # training steps, of which one does what the others do not: only all together say what a step takes

    def __init__(self, setup: Setup) -> None:
        """Sets threads, numerics and device for the process. Raises Unsupported."""
        self.setup = setup

    def facts(self) -> Dict[str, Any]:
        """Versions, build, device name, threads as the framework reports them."""
        raise NotImplementedError

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        """Makes the native model (and optimizer). Raises Unsupported, naming the layer."""
        raise NotImplementedError

    def differences(self) -> Differences:
        """How the model that was built differs from the graph, if it is another's that cannot take its weights."""
        return []

    def put(self, arrays: Given) -> None:
        """Loads parameters and state (and slots and "step" where given; otherwise slots are zeroed).

        Optimizer state starts anew at each call that gives no slots.
        """
        raise NotImplementedError

    def get(self) -> Arrays:
        """Parameters, state, slots and "step" now, in canonical form."""
        raise NotImplementedError

    def each(self) -> Iterator[Tuple[str, np.ndarray]]:
        """What `get` returns, one after another, so that a large model's need not all lie in memory."""
        return iter(self.get().items())

    def feed(self, arrays: Arrays) -> Any:
        """A batch as train_step and infer want it: on the device, in the layout of the native model."""
        raise NotImplementedError

    def train_step(self, batch: Any) -> Any:
        """One forward, loss, backward and update in the contender's mode; returns the loss, unread."""
        raise NotImplementedError

    def infer(self, batch: Any) -> Any:
        """The outputs in inference mode, unread, not waited for."""
        raise NotImplementedError

    def gradients(self, batch: Any) -> Arrays:
        """A training-mode forward and backward without update, in the contender's mode:
        "loss", "output/<tensor>" for each graph output, "gradient/<parameter>"."""
        raise NotImplementedError

    def wait(self, handle: Any) -> None:
        """Returns when the work behind `handle` is done."""
        raise NotImplementedError

    def read(self, handle: Any) -> Arrays:
        """What train_step ("loss") or infer ("output/<tensor>") returned, in canonical layout."""
        raise NotImplementedError

    def kept(self, handle: Any) -> Any:
        """A handle that can be read after later steps: a copy where the framework writes each result over the last."""
        return handle

    def device_memory(self) -> Optional[Dict[str, int]]:
        """Bytes by the device's own allocator ("now", "peak"), or None on a CPU."""
        return None

    def rest_until(self, moment: float) -> None:
        """Returns when its clock shows that moment: asleep but for the end, so that it does not oversleep."""
        left = moment - self.clock()
        if left > AWAKE:
            time.sleep(left - AWAKE)
        while self.clock() < moment:
            pass

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        """Runs one primitive the way a model of this contender would: "matmul" (a @ b), "conv" (NCHW
        input, OIHW weight, padding 1), "multiply" (a * b elementwise, for denormals).

        Result under "result". The audit reads numerics from it, not from flags. Raises Unsupported.
        """
        raise Unsupported("no probe {}".format(name))

    def evidence(self) -> Dict[str, Any]:
        """What can be seen of the mode being real: compiled graphs, fused kernels, layouts, oneDNN."""
        return {}

    def resized(self) -> None:
        """Called before batches of another size than the last ones: what is bound to a size is looked up anew."""

    def agreed(self, done: bool) -> bool:
        """What rank 0 says, for whatever all processes of a strategy must do equally often; alone, what is given."""
        return done

    def trace(self, step: Callable[[Any], Any], batches: List[Any]) -> Optional[List[TracedStep]]:
        """What this process of several does while it takes that step on each of these batches, one after another; None
        where it cannot be seen. It may take longer than untraced."""
        return None

    def compilations(self) -> Optional[int]:
        """How often the framework has traced or compiled the steps so far, by its own count (0: it runs them as they
        are); None where it does not count."""
        return None


def module_of(framework: str) -> str:
    """What the file of a framework is called: a dash in the name is an underscore there (keras-jax: keras_jax.py)."""
    return framework.replace("-", "_")


def beside(framework: str, file: str) -> Any:
    """The module of that name in the framework's part, imported; None where there is none. Frameworks that share a part
    begin with its name (keras-jax: _keras)."""
    words = module_of(framework).split("_")
    for count in range(len(words), 0, -1):
        part = "{}._{}".format(__name__, "_".join(words[:count]))
        if importlib.util.find_spec(part) is not None and importlib.util.find_spec(part + "." + file) is not None:
            return importlib.import_module(part + "." + file)
    return None


def forms() -> List[str]:
    """What graphs can be written out as: a framework's part has the form's name and a `source`, which needs no
    framework."""
    return sorted(path.parent.name[1:] for path in Path(__file__).parent.glob("_*/source.py"))


def native_source(form: str, graph: Graph) -> str:
    """The native code of a graph in one of the `forms`, as `photofinish show --as` prints it. Raises Unsupported."""
    module = importlib.import_module("{}._{}.source".format(__name__, form))
    return module.native_source(graph)  # type: ignore[no-any-return]


def names() -> List[str]:
    """The frameworks that have a file here, without importing any; `_name.py` is a part of another file."""
    found = [module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")]
    return sorted(name.replace("_", "-") for name in found)


def load(name: str, driver: str = "") -> Type[Contestant]:
    """Imports the framework's file (and so the framework), or the `driver` that its header names for old versions, and
    returns its Contestant."""
    module = importlib.import_module("{}.{}".format(__name__, driver or module_of(name)))
    return module.Contestant  # type: ignore[no-any-return]


def among(name: str, known: List[str], package: str) -> None:
    """Raises WrongUse, naming the nearest, if that package has no model of that name."""
    if name not in known:
        near = nearest(name, known)
        raise WrongUse("{} has no model {}{}".format(
            package, name, "; did you mean {}?".format(" or ".join(near)) if near else ""))


def differences(graph: Graph, first: Tuple[str, str, str], parameters: int, macs: int,
                layers: List[str]) -> Differences:
    """What tells another package's model from the graph: the first thing that does not fit, then the counts of its
    parameters, multiply-accumulates of weights, and layers with parameters by kind."""
    nodes = [node for node in graph.nodes if node.parameters and not node.training_only]
    own = sum(node.layer.macs(*graph.input_specs(node)) for node in nodes)
    kinds = [", ".join("{} {}".format(count, kind) for kind, count in Counter(each).most_common())
             for each in ([type(node.layer).__name__ for node in nodes], layers)]
    return [first, ("parameters", "{:,}".format(graph.parameter_count), "{:,}".format(parameters)),
            ("multiply-accumulates of a sample", "{:,}".format(own), "{:,}".format(macs)),
            ("layers with parameters", kinds[0], kinds[1])]


def drop_rates(graph: Graph) -> List[Tuple[str, float]]:
    """Kind and rate of every layer that drops values in training; 0 where a proof has silenced it."""
    fields = [(type(node.layer).__name__, layer_fields(node.layer)) for node in graph.nodes]
    return [(kind, each["rate"]) for kind, each in fields if "rate" in each]


def counted(rates: Dict[Tuple[str, float], int]) -> str:
    """Such kinds and rates, with how many there are of each: "25 Dropout 0.1"."""
    return ", ".join("{} {} {:g}".format(count, *each) for each, count in sorted(rates.items())) or "none"


def flattened_order(shape: Tuple[int, ...], axes: str, native: str) -> np.ndarray:
    """For features made by flattening `shape` (canonical `axes`): native feature i is canonical
    feature order[i] when the native layout spells its axes `native` ("CHW" -> "HWC")."""
    index = np.arange(int(np.prod(shape))).reshape(shape)
    return index.transpose([axes.index(axis) for axis in native]).ravel()
