# /// script
# requires-python = ">=3.11"
# dependencies = ["jax==0.10.2", "flax==0.12.8", "optax==0.2.8", "numpy"]
# [tool.photofinish]
# title = "JAX"
# modes = ["jit", "plain"]
# compiles = { jit = "seconds", plain = "seconds" }
# download = "167 MB"
# disk = "760 MB"
# devices = ["cpu", "cuda", "tpu"]
# options = {}
# environment = { XLA_PYTHON_CLIENT_PREALLOCATE = "false", JAX_COMPILATION_CACHE_DIR = "{cache}/jax" }
# ///
"""JAX: a graph is written out as the flax.nnx modules a person would write (mode jit), or as plain functions of
dictionaries (mode plain); either way one jitted step with donated buffers, by optax. That source is what runs.

So `photofinish show --as flax` prints the very code that races. The writing is in _flax/.
"""

import linecache
import re
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Tuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from photofinish import frameworks
from photofinish.frameworks import Arrays, Setup, Unsupported
from photofinish.frameworks._common import on_jax
from photofinish.frameworks._common.channels_last import feature_orders, native_shape, to_canonical, to_native
from photofinish.frameworks._common.variances import SampleVariances
from photofinish.frameworks._flax import plain
from photofinish.frameworks._flax.optimizers import SLOTS
from photofinish.frameworks._flax.source import native_source
from photofinish.frameworks._flax.weights import Place, places
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]

Words = Tuple[str, ...]  # the path of a leaf
PROBES: Dict[str, Callable[..., Any]] = {  # as layers compute them
    "matmul": lambda a, b: a @ b,
    "multiply": lambda a, b: a * b,
    "conv": lambda image, kernel: jax.lax.conv_general_dilated(
        image, kernel, (1, 1), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")),
}


def _load(source: str, name: str) -> Any:
    """Source as a module that tracebacks can read."""
    module: Any = types.ModuleType(name.strip("<>"))
    sys.modules[module.__name__] = module
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), vars(module))
    return module


def _words(path: Tuple[Any, ...]) -> Words:
    """A path in a tree, whatever its nodes call their keys."""
    return tuple(str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path)


def _paths(tree: Any) -> List[Words]:
    return [_words(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]


def _find(paths: List[Words], wanted: Tuple[Words, ...], after: str = "") -> Optional[int]:
    """The leaf at one of those paths: from the root, or behind the first node that is called `after`."""
    for number, words in enumerate(paths):
        begin = words.index(after) + 1 if after in words else 0
        if (begin or not after) and any(words[begin:begin + len(path)] == path for path in wanted):
            return number
    return None


class Flax:
    """The model as flax.nnx modules. `weights` and `memory`: the shapes of the model's arrays and the optimizer's."""

    counts_population = True  # in the running variance

    def __init__(self, graph: Graph, optimizer: Optional[Optimizer], dtype: Any) -> None:
        from flax import nnx  # not at the top: plain JAX does without
        self.nnx = nnx
        self.module = _load(native_source(graph, optimizer), "<photofinish_flax_{}>".format(graph.digest[:12]))
        found = nnx.eval_shape(self.module.build)
        self.model, updater = found if isinstance(found, tuple) else (found, None)
        if dtype != np.float32:  # what flax.nnx made its arrays of, and nnx.Embed would turn them back to
            self.model.set_attributes(dtype=dtype, raise_if_not_found=False)
        self.weights, self.memory = nnx.state(self.model), nnx.state(updater) if updater is not None else ()
        if updater is not None:
            self.train_step, self.infer = self.module.compiled(self.model, updater)
        else:
            self.train_step, self.infer = None, self.module.compiled(self.model)
        self.gradients = jax.jit(self._gradients)

    def paths(self, name: str, place: Place) -> Tuple[Words, ...]:
        return (place.path,) + place.aliases

    def _gradients(self, weights: Any, *batch: Any) -> Any:
        model = self.nnx.merge(self.nnx.graphdef(self.model), weights)
        (loss, outputs), found = self.nnx.value_and_grad(self.module.training_loss, has_aux=True)(model, *batch)
        return loss, outputs, found, self.nnx.state(model)


class Plain:
    """The model as functions of dictionaries."""

    counts_population = False

    def __init__(self, graph: Graph, optimizer: Optional[Optimizer], dtype: Any) -> None:
        self.module = _load(plain.native_source(graph, optimizer), "<photofinish_jax_{}>".format(graph.digest[:12]))
        self.weights = jax.eval_shape(self.module.initial, jax.random.key(0))
        trains = hasattr(self.module, "train_step")
        self.memory = jax.eval_shape(self.module.OPTIMIZER.init, self.weights["parameters"]) if trains else ()
        self.train_step, self.infer = getattr(self.module, "train_step", None), self.module.infer
        self.gradients = jax.jit(self._gradients)

    def paths(self, name: str, place: Place) -> Tuple[Words, ...]:
        return (({"parameter": "parameters", "state": "statistics"}[name.split("/")[0]],) + place.path,)

    def _gradients(self, weights: Any, *batch: Any) -> Any:
        key, used = jax.random.split(weights["key"])
        (loss, (outputs, _)), found = jax.value_and_grad(self.module.training_loss, has_aux=True)(
            weights["parameters"], weights["statistics"], used, *batch)
        return loss, outputs, {"parameters": found}, dict(weights, key=key)


STYLES: Dict[str, Any] = {"jit": Flax, "plain": Plain}


class Contestant(frameworks.Contestant):
    """JAX in mode "jit" (flax.nnx) or "plain": both are compiled by jax.jit, whole step and whole inference."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        if setup.mode not in STYLES:
            raise Unsupported("JAX has no mode {}: {}".format(setup.mode, ", ".join(STYLES)))
        if setup.options:
            raise Unsupported("JAX has no option {}".format(", ".join(setup.options)))
        if setup.precision not in ("float32", "float64"):
            raise Unsupported("no precision {} here".format(setup.precision))
        self.device = on_jax.prepare(jax, setup)
        self.dtype = np.dtype(setup.precision)
        self.operations: Dict[str, Any] = {}  # the probes that were used
        jax.config.update("jax_enable_x64", setup.precision == "float64")  # of the process, not of this model

    def facts(self) -> Dict[str, Any]:
        return dict(
            on_jax.facts(jax, self.device), version=jax.__version__, numpy=np.__version__, optax=optax.__version__,
            adam="optax's: in float32 its 1 - 0.999 is off by 1e-5, an update by half as much",
            batch_norm="the running variance takes n in training (flax.nnx); converted when read or used"
            if self.setup.mode == "jit" else "as the graph says")

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self.graph, self.batch, self.optimizer = graph, batch, optimizer
        self.style = STYLES[self.setup.mode](graph, optimizer, self.dtype)
        self.orders = feature_orders(graph)
        self.variances = SampleVariances(graph, batch, trains=optimizer is not None)
        if not self.style.counts_population:
            self.variances.terms.clear()
        self.steps = 0
        self.settled = True
        self._locate()
        self.weights, self.memory = (self._zeros(tree) for tree in (self.style.weights, self.style.memory))

    def _locate(self) -> None:
        """Which leaf of the two trees is which array of the graph."""
        weights, memory = _paths(self.style.weights), _paths(self.style.memory)
        self.places = places(self.graph)
        self.leaves: Dict[str, int] = {}
        for name, place in self.places.items():
            number = _find(weights, self.style.paths(name, place))
            assert number is not None, name
            self.leaves[name] = number
        named = {name.split("/", 1)[1]: place for name, place in self.places.items() if name.startswith("parameter/")}
        slots = self.optimizer.slots if self.optimizer is not None else ()
        found = {(slot, name): _find(memory, (place.path,) + place.aliases, after=SLOTS[slot])
                 for name, place in named.items() for slot in slots}
        self.slots = {key: number for key, number in found.items() if number is not None}  # no momentum, no velocity
        self.counters = [number for number, leaf in enumerate(jax.tree.leaves(self.style.memory))
                         if leaf.shape == () and jnp.issubdtype(leaf.dtype, jnp.integer)]

    def _zeros(self, tree: Any) -> Any:
        """A tree of those shapes: zeros, and a random key of its own for every layer that has one."""
        leaves, structure = jax.tree.flatten(tree)
        key = jax.random.key(self.setup.seed)
        values = [jax.random.fold_in(key, number) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
                  else np.zeros(leaf.shape, self._dtype(leaf.dtype)) for number, leaf in enumerate(leaves)]
        return jax.tree.unflatten(structure, jax.device_put(values, self.device))

    def _dtype(self, dtype: Any) -> Any:
        return self.dtype if jnp.issubdtype(dtype, jnp.floating) else dtype

    def _replaced(self, tree: Any, values: Dict[int, Any]) -> Any:
        """A tree with other leaves at those places, on the device."""
        leaves, structure = jax.tree.flatten(tree)
        for number, value in values.items():
            leaves[number] = np.array(value, self._dtype(leaves[number].dtype), order="C")
        return jax.tree.unflatten(structure, jax.device_put(leaves, self.device))

    def put(self, arrays: Arrays) -> None:
        """Leaves of the same types, so that compiled code stays valid."""
        self.steps = int(arrays.get("step", 0))
        self.weights = self._replaced(self.weights, {
            number: self.places[name].layout.native(arrays[name]) for name, number in self.leaves.items()})
        memory: Dict[int, Any] = dict.fromkeys(self.counters, self.steps)
        for (slot, name), number in self.slots.items():
            place, given = self.places["parameter/" + name], arrays.get("{}/{}".format(slot, name))
            memory[number] = np.zeros(place.shape) if given is None else place.layout.native(given)
        self.memory = self._replaced(self.memory, memory)
        self._begin(arrays)

    def _begin(self, arrays: Arrays) -> None:
        self.variances.begin(arrays, self.steps)
        self.settled = True

    def get(self) -> Arrays:
        weights, memory = jax.tree.leaves(self.weights), jax.tree.leaves(self.memory)
        arrays = {name: self._canonical(self.places[name], weights[number]) for name, number in self.leaves.items()}
        arrays.update({"{}/{}".format(slot, name): self._canonical(self.places["parameter/" + name], memory[number])
                       for (slot, name), number in self.slots.items()})
        arrays.update(self.variances.canonical(arrays, self.steps))
        return dict(arrays, step=np.array(self.steps, np.int64))

    def _canonical(self, place: Place, leaf: Any) -> np.ndarray:
        return np.array(place.layout.canonical(np.asarray(leaf)), order="C")

    def _settle(self) -> None:
        """Before inference that follows training: the model itself gets the variances of the graph's convention."""
        leaves = jax.tree.leaves(self.weights)
        found = {name: self._canonical(self.places[name], leaves[self.leaves[name]]) for name in self.variances.terms}
        found = self.variances.canonical(found, self.steps)
        if found:
            self.weights = self._replaced(self.weights, {self.leaves[name]: values for name, values in found.items()})
        self._begin(found)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        """Arrays in the order of the step's arguments: inputs, then the targets that are there."""
        given = [np.array(to_native(arrays[name], spec), self._dtype(arrays[name].dtype), order="C")
                 for name, spec in self.graph.inputs + self.graph.targets if name in arrays]
        return tuple(jax.device_put(given, self.device))

    def train_step(self, batch: Tuple[Any, ...]) -> Any:
        if self.style.train_step is None:
            raise Unsupported("no training without an optimizer and a loss")
        loss, self.weights, self.memory = self.style.train_step(self.weights, self.memory, *batch)
        self.steps += 1
        self.settled = False
        return loss

    def infer(self, batch: Tuple[Any, ...]) -> Any:
        if not self.settled:
            self._settle()
        return self.style.infer(self.weights, *batch[:len(self.graph.inputs)])

    def gradients(self, batch: Tuple[Any, ...]) -> Arrays:
        if not self.graph.losses:
            raise Unsupported("no gradients without a loss")
        loss, outputs, found, after = self.style.gradients(self.weights, *batch)
        kept = set(self.leaves.values())  # a pass in training mode moves statistics, too, and is not a step
        before, structure = jax.tree.flatten(self.weights)
        self.weights = jax.tree.unflatten(structure, [
            old if number in kept else new for number, (old, new) in enumerate(zip(before, jax.tree.leaves(after)))])
        paths, leaves = _paths(found), jax.tree.leaves(found)
        arrays = {}
        for name, place in self.places.items():
            if name.startswith("parameter/"):
                number = _find(paths, self.style.paths(name, place))
                assert number is not None, name
                arrays["gradient/" + name.split("/", 1)[1]] = self._canonical(place, leaves[number])
        return dict(arrays, loss=np.asarray(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        """A step is done when its parameters and the optimizer's arrays are there too."""
        jax.block_until_ready((handle, self.weights, self.memory) if _is_loss(handle) else handle)

    def read(self, handle: Any) -> Arrays:
        if _is_loss(handle):
            return {"loss": np.asarray(handle)}
        outputs = handle if isinstance(handle, tuple) else (handle,)
        return {"output/" + name: to_canonical(np.asarray(value), self.graph.spec(name), self.orders.get(name))
                for name, value in zip(self.graph.outputs, outputs) if value is not None}

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_jax.device_memory(self.device)

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("JAX has no probe {}".format(name))
        operation = self.operations.setdefault(name, jax.jit(PROBES[name]))
        values = [np.asarray(each, self.dtype) for each in arrays.values()]
        if name == "conv":
            values = [values[0].transpose(0, 2, 3, 1), values[1].transpose(2, 3, 1, 0)]
        result = np.asarray(operation(*jax.device_put(values, self.device)))
        return {"result": result.transpose(0, 3, 1, 2) if name == "conv" else result}

    def evidence(self) -> Dict[str, Any]:
        found: Dict[str, Any] = {"layout": "channels_last", "compiled": True, "thread_pools": on_jax.pools()}
        inputs, targets = (tuple(self._shape(spec) for _, spec in group)
                           for group in (self.graph.inputs, self.graph.targets))
        state = [jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)
                 for tree in (self.weights, self.memory)]
        if self.style.train_step is not None:
            found["train_step"] = _seen(self.style.train_step, *state, *inputs, *targets)
        return dict(found, infer=_seen(self.style.infer, state[0], *inputs))

    def compilations(self) -> int:
        """The programs that jax.jit made of its steps."""
        return sum(each._cache_size() for each in (self.style.train_step, self.style.infer) if each is not None)

    def _shape(self, spec: Any) -> Any:
        return jax.ShapeDtypeStruct((self.batch,) + native_shape(spec), self._dtype(np.dtype(spec.dtype)))


def _is_loss(handle: Any) -> bool:
    return isinstance(handle, jax.Array) and handle.ndim == 0  # outputs have a batch axis


def _seen(function: Any, *arguments: Any) -> Dict[str, Any]:
    """Of a jitted function: how often it was compiled, and what of. Compiled once more to be read."""
    text = function.lower(*arguments).compile().as_text()
    return {"compilations": function._cache_size(), "fused_kernels": text.count(" fusion("),
            "library_calls": text.count(" custom-call("), "buffers": len(jax.tree.leaves(arguments)),
            "donated_buffers": len(re.findall(r"(?:may|must)-alias", text))}
