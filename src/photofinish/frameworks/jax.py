# /// script
# requires-python = ">=3.11"
# dependencies = ["jax==0.10.2", "flax==0.12.8", "optax==0.2.8", "numpy"]
# [tool.photofinish]
# title = "JAX"
# modes = ["jit", "plain", "bf16"]
# precisions = { bf16 = ["bfloat16", "jit"] }
# compiles = { jit = "seconds", plain = "seconds", bf16 = "seconds" }
# download = "167 MB"
# disk = "760 MB"
# devices = ["cpu", "cuda", "tpu"]
# never-run = ["tpu"]
# options = {}
# environment = { XLA_PYTHON_CLIENT_PREALLOCATE = "false", JAX_COMPILATION_CACHE_DIR = "{cache}/jax" }
# [tool.photofinish.strategies]
# distributed = { modes = ["jit"], devices = ["cpu"] }
# shard_map = { modes = ["jit"], devices = ["cpu"], one-process = true }
# [tool.photofinish.lines]
# threads = ["export PJRT_NPROC={value}"]
# "mode=jit" = ["train_step = jax.jit(train_step, donate_argnums=(0, 1))"]
# "mode=plain" = ["train_step = jax.jit(train_step, donate_argnums=(0, 1))"]
# "mode=bf16" = [
#     "model.set_attributes(dtype=jnp.bfloat16, raise_if_not_found=False)",
#     "train_step = jax.jit(train_step, donate_argnums=(0, 1))",
# ]
# [[tool.photofinish.recipes]]
# version = ">=0.6,<0.10"
# python = ">=3.11,<3.14"
# dependencies = ["jax", "flax", "optax", "numpy"]
# ///
"""JAX: a graph is written out as the flax.nnx modules a person would write (mode jit), or as plain functions of
dictionaries (mode plain); either way one jitted step with donated buffers, by optax. That source is what runs. Mode
bf16 is jit in mixed precision.

So `photofinish show --as flax` prints the very code that races. The writing is in _flax/.
"""

import re
from typing import Any, Callable, Dict, Iterable, Optional, Tuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from photofinish.frameworks import Arrays, Given, Setup, Unsupported
from photofinish.frameworks._common import on_jax
from photofinish.frameworks._common.channels_last import feature_orders, native_shape, to_canonical, to_native
from photofinish.frameworks._common.trainer import Trainer
from photofinish.frameworks._flax.model import STYLES, find, paths
from photofinish.frameworks._flax.optimizers import SLOTS
from photofinish.frameworks._flax.source import native_source
from photofinish.frameworks._flax.weights import Place, places
from photofinish.graph import Graph

__all__ = ["Contestant", "native_source"]

PROBES: Dict[str, Callable[..., Any]] = {  # as layers compute them
    "matmul": lambda a, b: a @ b,
    "multiply": lambda a, b: a * b,
    "conv": lambda image, kernel: jax.lax.conv_general_dilated(
        image, kernel, (1, 1), ((1, 1), (1, 1)), dimension_numbers=("NHWC", "HWIO", "NHWC")),
}


class Contestant(Trainer):
    """JAX in mode "jit" (flax.nnx), "plain" or "bf16": all are compiled by jax.jit, whole step and whole inference. A
    handle is the number of a leaf in the tree of weights."""

    title = "JAX"
    modes = tuple(STYLES)
    precisions = ("float32", "float64")
    devices = on_jax.PLATFORMS

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.device = on_jax.prepare(jax, setup)
        self.dtype = np.dtype(setup.precision)
        self.operations: Dict[str, Any] = {}  # the probes that were used
        jax.config.update("jax_enable_x64", setup.precision == "float64")  # of the process, not of this model

    def facts(self) -> Dict[str, Any]:
        return dict(
            on_jax.facts(jax, self.device), version=jax.__version__, numpy=np.__version__, optax=optax.__version__,
            adam="optax's: in float32 its 1 - 0.999 is off by 1e-5, an update by half as much",
            batch_norm="the running variance takes n in training (flax.nnx); converted when read or used"
            if STYLES[self.setup.mode].counts_population else "as the graph says")

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        self.style = STYLES[self.setup.mode](graph, optimizer, self.dtype)
        if not self.style.counts_population:
            self.variances.terms.clear()
        self.places, self.orders = places(graph), feature_orders(graph)
        self.weights, self.memory = (self._zeros(tree) for tree in (self.style.weights, self.style.memory))
        memory = paths(self.style.memory)
        found = {(slot, name): find(memory, self._place(name).everywhere, after=SLOTS[slot])
                 for name in graph.parameters for slot in (optimizer.slots if optimizer is not None else ())}
        self.slots = {key: number for key, number in found.items() if number is not None}  # no momentum, no velocity
        self.counters = [number for number, leaf in enumerate(jax.tree.leaves(self.style.memory))
                         if leaf.shape == () and jnp.issubdtype(leaf.dtype, jnp.integer)]
        return self._located(self.places, self.style.weights)

    def _place(self, parameter: str) -> Place:
        return self.places["parameter/" + parameter]

    def _located(self, wanted: Iterable[str], tree: Any) -> Dict[str, int]:
        """Which leaf of a tree is which of those arrays of the graph."""
        known = paths(tree)
        found = {name: find(known, self.style.paths(name, self.places[name])) for name in wanted}
        assert None not in found.values(), found
        return found  # type: ignore[return-value]

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

    def _store(self, arrays: Arrays) -> None:
        """Leaves of the same types, so that compiled code stays valid."""
        self.weights = self._replaced(self.weights, {
            self.handles[name]: self.places[name].layout.native(array) for name, array in arrays.items()})

    def _store_slots(self, arrays: Given) -> None:
        memory: Dict[int, Any] = dict.fromkeys(self.counters, self.steps)
        for (slot, name), number in self.slots.items():
            place, given = self._place(name), arrays.get("{}/{}".format(slot, name))
            memory[number] = np.zeros(place.shape) if given is None else place.layout.native(given)
        self.memory = self._replaced(self.memory, memory)

    def _values(self, names: Iterable[str]) -> Arrays:
        leaves = jax.tree.leaves(self.weights)
        return {name: _canonical(self.places[name], leaves[self.handles[name]]) for name in names}

    def _slot_values(self) -> Arrays:
        leaves = jax.tree.leaves(self.memory)
        return {"{}/{}".format(slot, name): _canonical(self._place(name), leaves[number])
                for (slot, name), number in self.slots.items()}

    def _fed(self, array: np.ndarray, spec: Any) -> Any:
        values = np.array(to_native(array, spec), self._dtype(array.dtype), order="C")
        return jax.device_put(values, self.device)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        loss, self.weights, self.memory = self.style.train_step(self.weights, self.memory, *batch)
        return loss

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        return self.style.infer(self.weights, *inputs)

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        loss, outputs, found, self.weights = self.style.gradients(self.weights, *batch)
        leaves, parameters = jax.tree.leaves(found), ["parameter/" + name for name in self.graph.parameters]
        arrays = {name.replace("parameter", "gradient", 1): _canonical(self.places[name], leaves[number])
                  for name, number in self._located(parameters, found).items()}
        return dict(arrays, loss=np.asarray(loss), **self.read(outputs))

    def wait(self, handle: Any) -> None:
        """What one compiled program returns is there together: with the loss, the weights."""
        jax.block_until_ready(handle)

    def read(self, handle: Any) -> Arrays:
        if _is_loss(handle):
            return {"loss": np.asarray(handle)}
        named = {key.partition("/")[2]: np.asarray(value) for key, value in self._named(handle).items()}
        return {"output/" + name: to_canonical(values, self.graph.spec(name), self.orders.get(name))
                for name, values in named.items()}

    def device_memory(self) -> Optional[Dict[str, int]]:
        return on_jax.device_memory(self.device)

    def probe(self, name: str, arrays: Arrays) -> Arrays:
        if name not in PROBES:
            raise Unsupported("JAX has no probe {}".format(name))
        operation = self.operations.setdefault(name, jax.jit(PROBES[name]))
        form = STYLES[self.setup.mode].form or self.dtype
        values = [np.asarray(each, self.dtype).astype(form) for each in arrays.values()]
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


def _canonical(place: Place, leaf: Any) -> np.ndarray:
    return np.array(place.layout.canonical(np.asarray(leaf)), order="C")


def _is_loss(handle: Any) -> bool:
    return isinstance(handle, jax.Array) and handle.ndim == 0  # outputs have a batch axis


def _seen(function: Any, *arguments: Any) -> Dict[str, Any]:
    """Of a jitted function: how often it was compiled, and what of. Compiled once more to be read."""
    text = function.lower(*arguments).compile().as_text()
    return {"compilations": function._cache_size(), "fused_kernels": text.count(" fusion("),
            "library_calls": text.count(" custom-call("), "buffers": len(jax.tree.leaves(arguments)),
            "donated_buffers": len(re.findall(r"(?:may|must)-alias", text))}
