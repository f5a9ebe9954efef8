"""Layers of image models: scaled, padded, cropped and sliced images, local response normalisation, transposed
convolutions, activations with a slope below zero, and a class for each pixel."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from families.common import Case, between, head
from photofinish import layers
from photofinish.graph import Tensor, loss, record
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.vocabulary import (
    average_pool,
    batch_norm,
    concat,
    conv,
    conv_transpose,
    elu,
    flatten,
    global_average_pool,
    leaky_relu,
    linear,
    local_response_norm,
    max_pool,
    pad,
    relu,
    scale,
    slice_axis,
    tanh,
)

IMAGE = {"image": Spec("CHW", (4, 7, 5))}
SEQUENCE = {"sequence": Spec("TC", (7, 6))}


def dual_path(x: Tensor) -> Tensor:
    """One half of the channels is added to, the other concatenated to (Dual Path Networks)."""
    y = conv(x, 6, 3)
    return concat(slice_axis(x, 0, 3) + slice_axis(y, 0, 3), slice_axis(x, 3, 4), slice_axis(y, 3, 6))


def sliced_before_overwriting(x: Tensor) -> Tensor:
    """Nothing may overwrite what a part of it, or all of it, is still to be read from."""
    y = batch_norm(conv(x, 4, 3))
    part, rest = slice_axis(y, 0, 2), slice_axis(y, 2, 4)
    whole = relu(y)
    return concat(relu(part), conv(x, 2, 1) + rest, part, whole)


def sum_of_slices(x: Tensor) -> Tensor:
    """Each sum is read by the next one alone, and starts from parts of one tensor."""
    y = conv(x, 6, 3)
    return slice_axis(y, 0, 2) + slice_axis(y, 2, 4) + slice_axis(y, 4, 6) + conv(x, 2, 1)


# What is done to an image of 4x7x5 that came out of a 1x1 convolution.
ON_IMAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "scale": lambda x: scale(x, -0.3),
    "scale-of-a-branch": lambda x: x + scale(conv(x, 4, 3), 0.17),
    "scale-of-a-sum": lambda x: scale(x + conv(x, 4, 3), 0.17),
    "scale-of-a-product": lambda x: x * scale(x * conv(x, 4, 3), 0.5),
    "pad": lambda x: pad(x, (1, 2, 0, 3)),
    "pad-crop": lambda x: pad(x, (-1, 0, -2, -1)),
    "pad-and-crop": lambda x: pad(x, (-1, 1, 2, -2)),
    "pad-by-nothing": lambda x: pad(x, 0),
    "crop-of-a-sum": lambda x: pad(x + conv(x, 4, 3), -1),
    "crop-a-copy-of-what-is-kept": lambda x: concat(pad(x, (-1, -1, 0, 0)), conv(x, 2, 2, padding=0)),
    "pad-then-max-pool": lambda x: max_pool(pad(conv(x, 4, 1, bias=True), 1), 3, 2),
    "pad-then-average-pool": lambda x: average_pool(pad(x, (1, 0, 1, 2)), 3, 2),
    "crop-and-pad-then-take-every-other": lambda x: average_pool(pad(x, (-1, -1, 1, 1)), 1, 2),
    "slice": lambda x: slice_axis(x, 1, 3),
    "slice-height": lambda x: slice_axis(x, 2, 7, axis="H"),
    "slice-width": lambda x: slice_axis(x, 0, 4, axis="W"),
    "slice-all": lambda x: slice_axis(x, 0, 4),
    "slice-of-a-sum": lambda x: slice_axis(x + conv(x, 4, 3), 0, 3),
    "slice-flattened": lambda x: slice_axis(flatten(x), 3, 30),
    "slice-flattened-scaled": lambda x: slice_axis(linear(scale(flatten(x), 0.5), 6) * linear(flatten(x), 6), 2, 6),
    "scale-flattened": lambda x: leaky_relu(batch_norm(scale(flatten(x), 0.5))),
    "dual-path": dual_path,
    "sliced-before-overwriting": sliced_before_overwriting,
    "sum-of-slices": sum_of_slices,
    "local-response-norm": lambda x: local_response_norm(x, 5),
    "local-response-norm-strong": lambda x: local_response_norm(x, 3, alpha=0.8, beta=0.6, bias=1.5),
    "local-response-norm-even": lambda x: local_response_norm(x, 2, alpha=0.8, beta=0.5),
    "local-response-norm-of-one": lambda x: local_response_norm(x, 1, alpha=0.8, beta=1.2),
    "local-response-norm-wide": lambda x: local_response_norm(x, 9, alpha=2.0, bias=0.5),
    "leaky-relu": leaky_relu,
    "leaky-relu-steep": lambda x: leaky_relu(batch_norm(conv(x, 4, 3)), 0.3),
    "leaky-relu-flat": lambda x: leaky_relu(conv(x, 4, 3), 0.0),
    "elu": elu,
    "elu-low": lambda x: elu(batch_norm(conv(x, 4, 3)), 0.4),
    "conv-transpose": lambda x: conv_transpose(x, 3, 3),
    "conv-transpose-bias": lambda x: relu(conv_transpose(x, 3, 3, padding=1, bias=True)),
    "conv-transpose-doubling": lambda x: conv_transpose(x, 3, 2, stride=2),
    "conv-transpose-dcgan": lambda x: conv_transpose(x, 3, 4, stride=2, padding=1),
    "conv-transpose-same-padding": lambda x: conv_transpose(x, 3, 3, stride=2, padding=(0, 0, 1, 1), bias=True),
    "conv-transpose-output-padding": lambda x: conv_transpose(x, 3, 3, stride=2, padding=(1, 1, 0, 0)),
    "conv-transpose-four-paddings": lambda x: conv_transpose(x, 3, (3, 4), stride=(2, 1), padding=(0, 1, 2, 3)),
    "conv-transpose-strides-differ": lambda x: conv_transpose(x, 6, (2, 3), stride=(1, 2), padding=(0, 1)),
    "conv-transpose-gaps": lambda x: conv_transpose(x, 3, (1, 2), stride=3, bias=True),
}

# What is done to 7 steps of 6 that came out of a Linear.
ON_SEQUENCES: dict[str, Callable[[Tensor], Tensor]] = {
    "scale-sequence": lambda x: scale(x, 2.5),
    "slice-sequence": lambda x: slice_axis(x, 1, 4),
    "slice-time": lambda x: slice_axis(tanh(x), 2, 7, axis="T"),
}


def labelled(smoothing: float) -> Callable[[Tensor], Any]:
    """A class for each pixel."""
    def model(image: Tensor) -> Tensor:
        logits = conv(tanh(conv(image, 4, 3)), 5, 1, bias=True)
        loss(SoftmaxCrossEntropy(smoothing), logits, "label", Spec("HW", logits.shape[1:], "int32"))
        return logits
    return model


def cases() -> dict[str, Case]:
    found = {name: Case(record(between(function, lambda x: conv(x, 4, 1, name="entry")), IMAGE))
             for name, function in ON_IMAGES.items()}
    found.update({name: Case(record(between(function, lambda x: linear(x, 6, name="entry")), SEQUENCE))
                  for name, function in ON_SEQUENCES.items()})
    # Far from zero: where exp would overflow.
    found["elu-far"] = Case(record(between(elu, lambda x: conv(x, 4, 1, name="entry")), IMAGE), gain=60.0)
    found["cross-entropy-of-pixels"] = Case(record(labelled(0.0), IMAGE))
    found["cross-entropy-of-pixels-smoothed"] = Case(record(labelled(0.2), IMAGE))
    return found


# Definitions

def padded(use: Any, x: np.ndarray) -> np.ndarray:
    """Pixel by pixel."""
    (out,), (top, left, _, _) = use.layer.outputs(*use.specs), use.layer.padding
    y = np.zeros((len(x),) + out.shape)
    for i, j in product(range(out.size("H")), range(out.size("W"))):
        if 0 <= i - top < x.shape[2] and 0 <= j - left < x.shape[3]:
            y[:, :, i, j] = x[:, :, i - top, j - left]
    return y


def local_response(use: Any, x: np.ndarray) -> np.ndarray:
    """Channel by channel, as ONNX writes it."""
    layer, y = use.layer, np.empty_like(x)
    for c in range(x.shape[1]):
        first, last = max(0, c - (layer.size - 1) // 2), min(x.shape[1] - 1, c + layer.size // 2)
        total = sum(x[:, each] ** 2 for each in range(first, last + 1))
        y[:, c] = x[:, c] / (layer.bias + layer.alpha / layer.size * total) ** layer.beta
    return y


def transposed_convolution(use: Any, x: np.ndarray) -> np.ndarray:
    """Each pixel of the result, from those pixels of the image whose kernels reach it."""
    (out,), (top, left, _, _), (height, width) = use.layer.outputs(*use.specs), use.layer.padding, use.layer.kernel
    (down, across), weight = use.layer.stride, use.parameters["weight"]
    y = np.zeros((len(x),) + out.shape)
    for i, j in product(range(out.size("H")), range(out.size("W"))):
        for row, column in product(range(x.shape[2]), range(x.shape[3])):
            u, v = i + top - row * down, j + left - column * across
            if 0 <= u < height and 0 <= v < width:
                y[:, :, i, j] += x[:, :, row, column] @ weight[:, :, u, v]
    return y + use.parameters["bias"].reshape(1, -1, 1, 1) if use.layer.bias else y


DEFINITIONS = {
    layers.Scale: lambda use, x: np.multiply(x, np.full(x.shape, use.layer.factor)),
    layers.Pad: padded,
    layers.Slice: lambda use, x: np.take(x, range(use.layer.start, use.layer.stop), axis=use.axis(use.layer.axis)),
    layers.LocalResponseNorm: local_response,
    layers.LeakyRelu: lambda use, x: np.where(x > 0, x, 0) + use.layer.alpha * np.where(x > 0, 0, x),
    layers.Elu: lambda use, x: np.where(x > 0, x, use.layer.alpha * (np.exp(np.where(x > 0, 0, x)) - 1)),
    layers.ConvTranspose: transposed_convolution,
}


# Mutants

def _compact(image: Tensor) -> Tensor:
    x = leaky_relu(conv_transpose(image, 4, (3, 2), (1, 2), (1, 0, 0, 1), bias=True), 0.2)
    x = local_response_norm(x, 3, alpha=0.8, beta=0.6, bias=1.5)
    x = elu(scale(pad(x, (1, -1, -2, 2)), -0.7), 0.6)
    rows = slice_axis(x, 1, 4, axis="H")
    return head(concat(global_average_pool(x), global_average_pool(rows), slice_axis(flatten(rows), 2, 7)))


COMPACT = record(_compact, {"image": Spec("CHW", (3, 6, 5))})
EQUIVALENT: dict[str, str] = {}
