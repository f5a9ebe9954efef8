"""Slow layers planted in a built model, as `measure.sabotage` asks for them; no race loads this otherwise."""

from functools import partial
from typing import Any, Callable, List

import keras
import tensorflow as tf

from photofinish.frameworks import Unsupported
from photofinish.graph import Graph, Node

MODES = ("eager", "graph")


class Wide(keras.DTypePolicy):  # type: ignore[misc]
    """Variables in float32, which the layer casts to compute in float64."""

    compute_dtype = "float64"


def copy(contestant: Any, graph: Graph, times: int) -> None:
    """Every layer copies its output in the forward pass. What is a function in the source is no layer."""
    _check(contestant)
    for layer in contestant.model.layers:
        if not isinstance(layer, keras.layers.InputLayer):
            layer.call = partial(_copied, layer.call, times)


def widen(contestant: Any, graph: Graph, nodes: List[Node]) -> None:
    """These layers compute in float64, and hand out float32 as before. Raises Unsupported for one that has running
    state, or no layer of its name."""
    _check(contestant)
    found = {layer.name: layer for layer in contestant.model.layers}
    for node in nodes:
        layer = found.get(node.name)
        if layer is None or layer.non_trainable_variables:
            raise Unsupported("{} cannot be widened to float64".format(node.name))
        layer.dtype_policy = Wide("float32")
        layer.call = partial(_narrowed, layer.call)


def _check(contestant: Any) -> None:
    if contestant.setup.mode not in MODES or contestant.shipped:
        raise Unsupported("layers can be changed in {} alone".format(
            " and ".join("tensorflow:" + mode for mode in MODES)))


def _copied(call: Callable[..., Any], times: int, *inputs: Any, **options: Any) -> Any:
    output = call(*inputs, **options)
    return _copy(output, times) if tf.is_tensor(output) and output.dtype.is_floating else output


def _copy(tensor: Any, times: int) -> Any:
    """A copy that no optimizer of graphs leaves out; TensorFlow knows no gradient of it."""
    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def copied(tensor: Any) -> Any:
        for _ in range(times):
            tensor = tf.raw_ops.DeepCopy(x=tensor)
        return tensor, lambda gradient: gradient
    return copied(tensor)


def _narrowed(call: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
    return tf.cast(call(*inputs, **options), tf.float32)
