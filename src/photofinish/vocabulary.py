"""The words a model function is written in: each records one layer and returns its output tensor.

    from photofinish.vocabulary import *

    def model(x):
        x = relu(batch_norm(conv(x, 32, 3)))
        return linear(global_average_pool(x), 10)

`name=` gives a layer a name of its own; without it layers are numbered within their scope.
"""

from typing import Any, Dict, Optional, Tuple

from photofinish import layers
from photofinish.arguments import ArgumentError, Border, Padding, Pair, checked
from photofinish.graph import Graph, ModelError, Tensor, apply, block, scope, training_only

__all__ = [
    "ModelError", "adaptive_average_pool", "additive_attention", "attention", "average_pool", "batch_norm", "block",
    "channel_scale", "class_token", "clip", "concat", "conv", "conv_transpose", "dropout", "elu", "embedding",
    "embedding_bag", "flatten", "gelu", "global_average_pool", "gru", "image_to_sequence", "layer_norm", "leaky_relu",
    "learned_positions", "linear", "local_response_norm", "lstm", "masked_mean", "matmul", "max_pool", "pad",
    "pairwise_dots", "relu", "relu6", "rows_to_sequence", "scale", "scan", "scope", "select", "sequence_conv",
    "sigmoid", "sinusoidal_positions", "slice_axis", "stack", "stochastic_depth", "swish", "tanh", "training_only",
]

def _pair(value: Pair) -> Tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _padding(value: Padding) -> Tuple[int, int, int, int]:
    if isinstance(value, int):
        return (value,) * 4
    if value is not None and len(value) == 2:
        return (value[0], value[1], value[0], value[1])
    return tuple(value or (0, 0, 0, 0))  # type: ignore[return-value]


def _narrow(padding: Padding, kernel: Pair) -> Tuple[int, int, int, int]:
    """Raises ArgumentError for a padding that has room for a whole window: there is nothing to pool in it."""
    sides = _padding(padding)
    if any(side >= size for side, size in zip(sides, _pair(kernel) * 2)):
        raise ArgumentError("padding {} has room for a whole window of {}: each side takes less than the kernel".format(
            padding, kernel))
    return sides


def _one(layer: layers.Layer, *inputs: Tensor, name: str, share: Optional[Dict[str, str]] = None) -> Tensor:
    return apply(layer, *inputs, name=name, share=share)[0]


@checked
def conv(x: Tensor, channels: int, kernel: Pair, stride: Pair = 1, padding: Padding = None,
         dilation: Pair = 1, groups: int = 1, bias: bool = False, name: str = "") -> Tensor:
    """A convolution (C, H, W) -> (channels, H', W'). Padding defaults to (kernel - 1) // 2 on each side."""
    height, width = _pair(kernel)
    down, across = _pair(dilation)
    if padding is None:
        padding = (down * (height - 1) // 2, across * (width - 1) // 2)
    layer = layers.Conv(channels, (height, width), _pair(stride), _padding(padding), (down, across), groups, bias)
    return _one(layer, x, name=name)


@checked
def linear(x: Tensor, features: int, bias: bool = True, name: str = "", weight: str = "") -> Tensor:
    """A matrix product over the last axis. `weight` names an existing parameter to share (tied weights)."""
    share = {"weight": weight} if weight else None
    return _one(layers.Linear(features, bias), x, name=name, share=share)


@checked
def batch_norm(x: Tensor, epsilon: float = 1e-5, momentum: float = 0.9, running_variance: str = "sample",
               scale: bool = True, center: bool = True, name: str = "") -> Tensor:
    """Batch normalisation over all axes but C; see `layers.BatchNorm` for the conventions."""
    return _one(layers.BatchNorm(epsilon, momentum, running_variance, scale, center), x, name=name)


@checked
def relu(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.Relu(), x, name=name)


@checked
def clip(x: Tensor, low: float, high: float, name: str = "") -> Tensor:
    return _one(layers.Clip(low, high), x, name=name)


@checked
def relu6(x: Tensor, name: str = "") -> Tensor:
    return clip(x, 0.0, 6.0, name=name)


@checked
def sigmoid(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.Sigmoid(), x, name=name)


@checked
def tanh(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.Tanh(), x, name=name)


@checked
def swish(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.Swish(), x, name=name)


@checked
def dropout(x: Tensor, rate: float, name: str = "") -> Tensor:
    return _one(layers.Dropout(rate), x, name=name)


@checked
def stochastic_depth(x: Tensor, rate: float, name: str = "") -> Tensor:
    return _one(layers.StochasticDepth(rate), x, name=name)


@checked
def max_pool(x: Tensor, kernel: Pair, stride: Optional[Pair] = None, padding: Padding = 0,
             ceil: bool = False, name: str = "") -> Tensor:
    """Stride defaults to the kernel."""
    layer = layers.MaxPool(_pair(kernel), _pair(kernel if stride is None else stride), _narrow(padding, kernel), ceil)
    return _one(layer, x, name=name)


@checked
def average_pool(x: Tensor, kernel: Pair, stride: Optional[Pair] = None, padding: Padding = 0,
                 ceil: bool = False, count_padding: bool = False, name: str = "") -> Tensor:
    """Stride defaults to the kernel."""
    layer = layers.AveragePool(_pair(kernel), _pair(kernel if stride is None else stride), _narrow(padding, kernel),
                               ceil, count_padding)
    return _one(layer, x, name=name)


@checked
def adaptive_average_pool(x: Tensor, size: Pair, name: str = "") -> Tensor:
    return _one(layers.AdaptiveAveragePool(_pair(size)), x, name=name)


@checked
def global_average_pool(x: Tensor, keep_axes: bool = False, name: str = "") -> Tensor:
    return _one(layers.GlobalAveragePool(keep_axes), x, name=name)


@checked
def flatten(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.Flatten(), x, name=name)


@checked
def concat(*tensors: Tensor, axis: str = "C", name: str = "") -> Tensor:
    return _one(layers.Concat(axis), *tensors, name=name)


@checked
def embedding(ids: Tensor, vocabulary: int, features: int, name: str = "", weight: str = "",
              gain: float = 1.0) -> Tensor:
    """Rows of a table. `weight` names an existing parameter to share (tied weights)."""
    share = {"weight": weight} if weight else None
    return _one(layers.Embedding(vocabulary, features, gain), ids, name=name, share=share)


@checked
def masked_mean(x: Tensor, mask: Tensor, name: str = "") -> Tensor:
    return _one(layers.MaskedMean(), x, mask, name=name)


def _step(body: Graph, carry: Tensor, sequence: Tensor) -> None:
    """Checks what scan runs along a sequence."""
    if len(body.inputs) != 2 or len(body.outputs) != 2:
        raise ArgumentError("scan takes a body of (carry, x) -> (carry, y), not one of {} inputs and {} outputs".format(
            len(body.inputs), len(body.outputs)))
    if not sequence.spec.axes.startswith("T"):
        raise ArgumentError("scan runs along T, the first axis of a sequence: {!r} has none".format(sequence))
    step = layers.Spec(sequence.spec.axes[1:], sequence.spec.shape[1:], sequence.spec.dtype)
    for what, given, spec in (("takes a carry", carry.spec, body.inputs[0][1]),
                              ("takes a step", step, body.inputs[1][1]),
                              ("hands on a carry", carry.spec, body.spec(body.outputs[0]))):
        if (given.axes, given.shape, given.dtype) != (spec.axes, spec.shape, spec.dtype):
            raise ArgumentError("scan: the body {} {}{} of {}, and the one it gets is {}{} of {}".format(
                what, spec.axes, spec.shape, spec.dtype, given.axes, given.shape, given.dtype))
    for node in body.nodes:
        if node.layer.random or node.state:
            raise ArgumentError("scan: a body has no {} ({}): use it before or after".format(
                type(node.layer).__name__, node.name))


@checked
def scan(body: Any, carry: Tensor, sequence: Tensor, name: str = "") -> Tuple[Tensor, Tensor]:
    """Runs `body` (a Graph of (carry, x) -> (carry, y)) along axis T; returns the last carry and all y.

    Raises ArgumentError for a body that does not fit, and for layers that nobody could prove in it: what is drawn or
    kept from step to step (dropout, running statistics).
    """
    _step(body, carry, sequence)
    last, outputs = apply(layers.Scan(body), carry, sequence, name=name)
    return last, outputs


# Further convolutions and images


@checked
def conv_transpose(x: Tensor, channels: int, kernel: Pair, stride: Pair = 1, padding: Padding = 0, bias: bool = False,
                   name: str = "") -> Tensor:
    """A transposed convolution (C, H, W) -> (channels, H', W'), H' = (H - 1) * stride + kernel - padding."""
    layer = layers.ConvTranspose(channels, _pair(kernel), _pair(stride), _padding(padding), bias)
    return _one(layer, x, name=name)


@checked
def sequence_conv(x: Tensor, channels: int, kernel: int, stride: int = 1, padding: Optional[Tuple[int, int]] = None,
                  groups: int = 1, bias: bool = False, name: str = "") -> Tensor:
    """A convolution along time (T, C) -> (T', channels). Padding defaults to (kernel - 1) // 2 on each side."""
    sides = ((kernel - 1) // 2,) * 2 if padding is None else (padding[0], padding[1])
    return _one(layers.SequenceConv(channels, kernel, stride, sides, groups, bias), x, name=name)


@checked
def pad(x: Tensor, padding: Border, name: str = "") -> Tensor:
    """Zeros around an image; a negative amount crops."""
    return _one(layers.Pad(_padding(padding)), x, name=name)


@checked
def local_response_norm(x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0,
                        name: str = "") -> Tensor:
    return _one(layers.LocalResponseNorm(size, alpha, beta, bias), x, name=name)


@checked
def leaky_relu(x: Tensor, alpha: float = 0.01, name: str = "") -> Tensor:
    return _one(layers.LeakyRelu(alpha), x, name=name)


@checked
def elu(x: Tensor, alpha: float = 1.0, name: str = "") -> Tensor:
    return _one(layers.Elu(alpha), x, name=name)


# Constants, parts, and learned vectors


@checked
def scale(x: Tensor, factor: float, name: str = "") -> Tensor:
    return _one(layers.Scale(factor), x, name=name)


@checked
def channel_scale(x: Tensor, initial: float = 1.0, name: str = "") -> Tensor:
    return _one(layers.ChannelScale(initial), x, name=name)


@checked
def slice_axis(x: Tensor, start: int, stop: int, axis: str = "C", name: str = "") -> Tensor:
    return _one(layers.Slice(axis, start, stop), x, name=name)


@checked
def select(x: Tensor, index: int, axis: str = "T", name: str = "") -> Tensor:
    return _one(layers.Select(axis, index), x, name=name)


@checked
def stack(*tensors: Tensor, name: str = "") -> Tensor:
    return _one(layers.Stack(), *tensors, name=name)


@checked
def class_token(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.ClassToken(), x, name=name)


@checked
def embedding_bag(ids: Tensor, vocabulary: int, features: int, name: str = "") -> Tensor:
    return _one(layers.EmbeddingBag(vocabulary, features), ids, name=name)


@checked
def matmul(matrix: Tensor, x: Tensor, name: str = "") -> Tensor:
    return _one(layers.MatMul(), matrix, x, name=name)


@checked
def pairwise_dots(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.PairwiseDots(), x, name=name)


# Sequences


@checked
def image_to_sequence(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.ImageToSequence(), x, name=name)


@checked
def rows_to_sequence(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.RowsToSequence(), x, name=name)


@checked
def learned_positions(x: Tensor, length: int, gain: float = 0.02, name: str = "") -> Tensor:
    return _one(layers.LearnedPositions(length, gain), x, name=name)


@checked
def sinusoidal_positions(x: Tensor, name: str = "") -> Tensor:
    return _one(layers.SinusoidalPositions(), x, name=name)


@checked
def layer_norm(x: Tensor, epsilon: float = 1e-5, scale: bool = True, center: bool = True, name: str = "") -> Tensor:
    return _one(layers.LayerNorm(epsilon, scale, center), x, name=name)


@checked
def gelu(x: Tensor, approximate: str = "none", name: str = "") -> Tensor:
    """`approximate` is "none" (by the error function) or "tanh"."""
    return _one(layers.Gelu(approximate), x, name=name)


@checked
def attention(query: Tensor, key: Tensor, value: Tensor, heads: int, mask: Optional[Tensor] = None,
              causal: bool = False, name: str = "") -> Tensor:
    """Scaled dot-product attention of projected sequences; `mask` is true at the keys that may be looked at."""
    masks = () if mask is None else (mask,)
    return _one(layers.Attention(heads, causal), query, key, value, *masks, name=name)


@checked
def additive_attention(query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None,
                       name: str = "") -> Tensor:
    """Normed Bahdanau attention of projected queries and keys."""
    masks = () if mask is None else (mask,)
    return _one(layers.AdditiveAttention(), query, key, value, *masks, name=name)


@checked
def lstm(x: Tensor, features: int, bidirectional: bool = False, double_bias: bool = False, name: str = "") -> Tensor:
    return _one(layers.LSTM(features, bidirectional, double_bias), x, name=name)


@checked
def gru(x: Tensor, features: int, bidirectional: bool = False, reset_after: bool = True, name: str = "") -> Tensor:
    return _one(layers.GRU(features, bidirectional, reset_after), x, name=name)
