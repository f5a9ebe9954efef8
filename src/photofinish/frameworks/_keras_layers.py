"""Keras for each layer kind, as text: the one table, and what Keras lacks. Images are laid out NHWC."""

import json
import keyword
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.graph import Graph, Node
from photofinish.layers import Spec


def native_axes(axes: str) -> str:
    """Channels last: "CHW" -> "HWC"."""
    return axes.replace("C", "") + "C" if "C" in axes else axes


def native_shape(spec: Spec) -> Tuple[int, ...]:
    return tuple(spec.size(axis) for axis in native_axes(spec.axes))


def is_depthwise(layer: layers.Conv, spec: Spec) -> bool:
    return layer.groups == spec.size("C") > 1


def show(value: Any) -> str:
    """A Python literal, strings in double quotes."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def call(function: str, *arguments: Any, **options: Any) -> str:
    """The text of a call; options that are None are left out."""
    given = [show(each) for each in arguments]
    given += ["{}={}".format(key, show(value)) for key, value in options.items() if value is not None]
    return "{}({})".format(function, ", ".join(given))


def _square(pair: Sequence[int], default: int = 0) -> Any:
    """Keras' spelling of a size per axis: one number if they agree, None if that is the default."""
    return tuple(pair) if pair[0] != pair[1] else (pair[0] if pair[0] != default else None)


class Use:
    """One use of a layer, to be printed: its layer, specs, and name."""

    def __init__(self, graph: Graph, node: Node, name: str) -> None:
        self.layer: Any = node.layer
        self.node = node
        self.specs = graph.input_specs(node)
        self.spec = self.specs[0]
        self.out = graph.spec(node.outputs[0])
        self.name = name
        self.transposed = False  # a Flatten that must transpose first

    def keras(self, kind: str, *arguments: Any, **options: Any) -> str:
        return call("layers." + kind, *arguments, **dict(options, name=self.name)) + "({0})"

    def merge(self, kind: str, **options: Any) -> str:
        several = ", ".join("{{{}}}".format(i) for i in range(len(self.specs)))
        return call("layers." + kind, **dict(options, name=self.name)) + "([{}])".format(several)


# The table: a function per layer kind, from a use to expressions applied one after another, each to the
# result of the one before ({0}; the first has the node's inputs: {0}, {1}, ...)

Printed = List[str]
Amounts = Tuple[Tuple[int, int], Tuple[int, int]]


def _padding(use: Use, dilation: Sequence[int] = (1, 1)) -> Tuple[Optional[str], Amounts]:
    """The amounts ((top, bottom), (left, right)) to pad, and Keras' `padding` option: "same" where that is
    exactly these amounts.

    Trailing padding is what the windows read: rows that none reads are left out, and those that a last
    window reads beyond the layer's own padding (ceil) are put in.
    """
    amounts: List[Tuple[int, int]] = []
    same = []
    for axis, letter in enumerate("HW"):
        size, count, stride = use.spec.size(letter), use.out.size(letter), use.layer.stride[axis]
        span = (count - 1) * stride + dilation[axis] * (use.layer.kernel[axis] - 1) + 1
        first = use.layer.padding[axis]
        amounts.append((first, max(0, span - first - size)))
        total = max(0, span - size)
        same.append(count == -(-size // stride) and amounts[axis] == (total // 2, total - total // 2))
    return "same" if all(same) and np.any(amounts) else None, (amounts[0], amounts[1])


def _zero_padding(use: Use, amounts: Amounts) -> Printed:
    if not np.any(amounts):
        return []
    (top, bottom), (left, right) = amounts
    size = _square((top, left)) if (top, left) == (bottom, right) else amounts
    return [call("layers.ZeroPadding2D", size, name=use.name + ".padding") + "({0})"]


def _conv(use: Use) -> Printed:
    layer = use.layer
    depthwise = is_depthwise(layer, use.spec)
    refused = max(layer.stride) > 1 and max(layer.dilation) > 1 and not depthwise  # Keras will not do both
    same, amounts = _padding(use, layer.dilation)
    same = None if refused else same
    options = {"strides": None if refused else _square(layer.stride, 1), "padding": same,
               "dilation_rate": _square(layer.dilation, 1), "use_bias": None if layer.bias else False}
    kernel = _square(layer.kernel)
    if depthwise:
        multiplier = layer.channels // layer.groups
        body = use.keras("DepthwiseConv2D", kernel, depth_multiplier=multiplier if multiplier > 1 else None, **options)
    else:  # grouped convolutions Keras compiles with XLA on the CPU, in every mode
        body = use.keras("Conv2D", layer.channels, kernel, groups=layer.groups if layer.groups > 1 else None, **options)
    thinned = ["{{0}}[:, ::{}, ::{}]".format(*layer.stride)] if refused else []
    return ([] if same else _zero_padding(use, amounts)) + [body] + thinned


def _max_pool(use: Use) -> Printed:
    same, amounts = _padding(use)
    pool = use.keras("MaxPooling2D", _square(use.layer.kernel), strides=_square(use.layer.stride), padding=same)
    if same or not np.any(amounts):
        return [pool]
    return ["ops.pad({{0}}, ((0, 0), {}, {}, (0, 0)), constant_values=-np.inf)".format(*amounts), pool]


def _average_pool(use: Use) -> Printed:
    layer = use.layer
    same, amounts = _padding(use)
    if not np.any(amounts) or (same and not layer.count_padding):
        return [use.keras("AveragePooling2D", _square(layer.kernel), strides=_square(layer.stride), padding=same)]
    # Keras divides by the whole window once the image is padded: put the divisors right at the edges
    shares, ends = [], []
    for axis, letter in enumerate("HW"):
        first, last, size = layer.padding[axis], layer.padding[2 + axis], use.spec.size(letter)
        starts = np.arange(use.out.size(letter)) * layer.stride[axis] - first
        stops = starts + layer.kernel[axis]
        low, high = (-first, size + last) if layer.count_padding else (0, size)
        shares.append((layer.kernel[axis] / (np.minimum(stops, high) - np.maximum(starts, low))).tolist())
        ends.append((first, max(0, int(stops[-1]) - size)))
    pool = call("layers.AveragePooling2D", _square(layer.kernel), strides=_square(layer.stride), name=use.name)
    edges = [] if set(shares[0] + shares[1]) == {1.0} else [
        "layers.Rescaling(np.outer({}, {})[..., None], name={})({{0}})".format(*shares, show(use.name + ".edges"))]
    return _zero_padding(use, (ends[0], ends[1])) + [pool + "({0})"] + edges


def _adaptive_average_pool(use: Use) -> Printed:
    sizes, counts = (use.spec.size("H"), use.spec.size("W")), tuple(use.layer.size)
    if sizes == counts:
        return [use.keras("Identity")]
    if sizes[0] % counts[0] == 0 and sizes[1] % counts[1] == 0:
        return [use.keras("AveragePooling2D", _square((sizes[0] // counts[0], sizes[1] // counts[1])))]
    if all(-(-size // count) < size for size, count in zip(sizes, counts)):
        return [use.keras("AdaptiveAveragePooling2D", _square(counts))]
    return ['ops.einsum("bhwc,hi,wj->bijc", {{0}}, bins({}, {}), bins({}, {}))'.format(
        sizes[0], counts[0], sizes[1], counts[1])]


def _global_average_pool(use: Use) -> Printed:
    if use.spec.axes not in ("CHW", "TC"):
        raise Unsupported("{} (GlobalAveragePool): no Keras layer for axes {}".format(use.name, use.spec.axes))
    kind = {"CHW": "GlobalAveragePooling2D", "TC": "GlobalAveragePooling1D"}[use.spec.axes]
    return [use.keras(kind, keepdims=True if use.layer.keep_axes else None)]


def _clip(use: Use) -> Printed:
    if (use.layer.low, use.layer.high) == (0, 6):
        return [use.keras("ReLU", 6.0)]
    return ["clip({{0}}, {!r}, {!r})".format(use.layer.low, use.layer.high)]


def _concat(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    position = 1 + axes.index(use.layer.axis)
    return [use.merge("Concatenate", axis=position if position < len(axes) else None)]


def _flatten(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    order = tuple(1 + axes.index(axis) for axis in use.spec.axes)
    permute = [call("layers.Permute", order, name=use.name + ".canonical") + "({0})"] if use.transposed else []
    return permute + [use.keras("Flatten")]


def _scan(use: Use) -> Printed:
    body = use.layer.body
    if body.state:
        raise Unsupported("{} (Scan): a body with state of its own".format(use.name))
    axes = [spec.axes for _, spec in body.inputs] + [body.spec(name).axes for name in body.outputs]
    if axes != ["C"] * 4:
        raise Unsupported("{} (Scan): Keras' RNN carries and steps vectors (C), not {}".format(use.name, axes))
    cell = "ScanCell({}())".format(identifier(use.name + ".step"))
    return ["layers.RNN({}, return_sequences=True, return_state=True, name={})({{1}}, initial_state=[{{0}}])[::-1]"
            .format(cell, show(use.name))]


TABLE: Dict[type, Callable[[Use], Printed]] = {
    layers.Conv: _conv,
    layers.Linear: lambda use: [use.keras("Dense", use.layer.features, use_bias=None if use.layer.bias else False)],
    layers.BatchNorm: lambda use: [use.keras(
        "BatchNormalization", momentum=use.layer.momentum, epsilon=use.layer.epsilon,
        center=None if use.layer.center else False, scale=None if use.layer.scale else False)],
    layers.Relu: lambda use: [use.keras("ReLU")],
    layers.Clip: _clip,
    layers.Sigmoid: lambda use: [use.keras("Activation", "sigmoid")],
    layers.Tanh: lambda use: [use.keras("Activation", "tanh")],
    layers.Swish: lambda use: [use.keras("Activation", "silu")],
    layers.Dropout: lambda use: [use.keras("Dropout", use.layer.rate)],
    layers.StochasticDepth: lambda use: [use.keras(
        "Dropout", use.layer.rate, noise_shape=(None,) + (1,) * len(use.spec.axes))],
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.GlobalAveragePool: _global_average_pool,
    layers.Flatten: _flatten,
    layers.Add: lambda use: [use.merge("Add")],
    layers.Multiply: lambda use: [use.merge("Multiply")],
    layers.Concat: _concat,
    layers.Embedding: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features)],
    layers.MaskedMean: lambda use: [call("layers.GlobalAveragePooling1D", name=use.name) + "({0}, mask={1})"],
    layers.Scan: _scan,
}


# What Keras lacks, printed above the model where it is used

HELPERS = {
    "clip": '''
def clip(x, low, high):
    """As ops.clip, but no gradient flows at the bounds themselves."""
    inside = ops.logical_and(x > low, x < high)
    return ops.where(inside, x, ops.stop_gradient(ops.clip(x, low, high)))
''',
    "bins": '''
def bins(size, count):
    """Column i averages bin i of an adaptive pool. Keras' own layer fails where a bin is as long as the axis."""
    matrix = np.zeros((size, count), keras.config.floatx())
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[start:stop, i] = 1 / (stop - start)
    return matrix
''',
    "TiedDense": '''
class TiedDense(layers.Layer):
    """A matrix product with the kernel of another layer, or the transposed table of an embedding."""

    def __init__(self, units, source, use_bias=True, **options):
        super().__init__(**options)
        self.source = source
        self.bias = self.add_weight(shape=(units,), initializer="zeros", name="bias") if use_bias else None

    def call(self, x):
        tied = self.source
        y = ops.matmul(x, ops.transpose(tied.embeddings) if isinstance(tied, layers.Embedding) else tied.kernel)
        return y if self.bias is None else y + self.bias
''',
    "ScanCell": '''
class ScanCell(layers.Layer):
    """A recurrent cell: one step is a model from [carry, input] to [carry, output]."""

    def __init__(self, step, **options):
        super().__init__(**options)
        self.step = step
        self.state_size, self.output_size = (tensor.shape[-1] for tensor in step.outputs)

    def call(self, x, states, training=None):
        carry, y = self.step([states[0], x], training=training)
        return y, [carry]
''',
    "smoothed_cross_entropy": '''
def smoothed_cross_entropy(labels, logits, smoothing):
    other = smoothing / logits.shape[-1]
    wanted = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + other, other, dtype=logits.dtype)
    return tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
''',
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1); Keras adds it before."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        mean, square = self._momentums[index], self._velocities[index]
        gradient = tf.convert_to_tensor(gradient)
        step = tf.cast(self.iterations + 1, tf.float64)  # in float32, 1 - 0.999 is off by 1e-5
        correction = tf.sqrt(1 - tf.constant(self.beta_2, tf.float64) ** step)
        rate = tf.cast(learning_rate, tf.float64) * correction / (1 - tf.constant(self.beta_1, tf.float64) ** step)
        mean.assign_add((gradient - mean) * (1 - self.beta_1))
        square.assign_add((gradient * gradient - square) * (1 - self.beta_2))
        epsilon = tf.cast(self.epsilon * correction, variable.dtype)
        variable.assign_sub(tf.cast(rate, variable.dtype) * mean / (tf.sqrt(square) + epsilon))
''',
}
RESERVED = set(HELPERS) | {
    "x", "GRAPH", "keras", "layers", "ops", "np", "tf", "build", "model", "inference", "optimizer", "loss_of",
    "train_step", "infer", "outputs", "loss", "tape", "gradients", "values", "variable"}


def identifier(name: str) -> str:
    """A Python name for a tensor or scope."""
    word = re.sub(r"\W", "_", name)
    if word in RESERVED or keyword.iskeyword(word):
        return word + "_"
    return "_" + word if word[0].isdigit() else word
