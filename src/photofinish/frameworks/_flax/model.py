"""The model of a graph in JAX, in either style: its compiled functions, and where its arrays are in their trees."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import jax
import numpy as np

from photofinish.frameworks._common.execution import execute
from photofinish.frameworks._flax import bf16, plain
from photofinish.frameworks._flax.source import native_source
from photofinish.frameworks._flax.weights import Place
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

Words = Tuple[str, ...]  # the path of a leaf


def _words(path: Tuple[Any, ...]) -> Words:
    """A path in a tree, whatever its nodes call their keys."""
    return tuple(str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path)


def paths(tree: Any) -> List[Words]:
    return [_words(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]]


def find(paths: List[Words], wanted: Tuple[Words, ...], after: str = "") -> Optional[int]:
    """The leaf at one of those paths: from the root, or behind the first node that is called `after`."""
    for number, words in enumerate(paths):
        begin = words.index(after) + 1 if after in words else 0
        if (begin or not after) and any(words[begin:begin + len(path)] == path for path in wanted):
            return number
    return None


class Flax:
    """The model as flax.nnx modules. `weights` and `memory`: the shapes of the model's arrays and the optimizer's."""

    counts_population = True  # in the running variance
    source: Callable[..., str] = staticmethod(native_source)
    name, form = "flax", ""  # `form` is what layers compute in, where that is not what arrays are in

    def __init__(self, graph: Graph, optimizer: Optional[Optimizer], dtype: Any) -> None:
        from flax import nnx  # not at the top: plain JAX does without
        self.nnx = nnx
        self.module = execute(self.source(graph, optimizer), self.name, graph)
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
        return place.everywhere

    def _gradients(self, weights: Any, *batch: Any) -> Any:
        model = self.nnx.merge(self.nnx.graphdef(self.model), weights)
        (loss, outputs), found = self.nnx.value_and_grad(self.module.training_loss, has_aux=True)(model, *batch)
        return loss, outputs, found, self.nnx.state(model)


class Bf16(Flax):
    """The same in mixed precision."""

    source = staticmethod(bf16.native_source)
    name, form = "flax_bf16", bf16.FORM


class Plain:
    """The model as functions of dictionaries."""

    counts_population, form = False, ""

    def __init__(self, graph: Graph, optimizer: Optional[Optimizer], dtype: Any) -> None:
        self.module = execute(plain.native_source(graph, optimizer), "jax", graph)
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


STYLES: Dict[str, Any] = {"jit": Flax, "plain": Plain, "bf16": Bf16}
