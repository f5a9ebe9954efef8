"""Sums, products, and layers that only move values."""

from typing import Sequence, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use


def add(use: Use, left: np.ndarray, right: np.ndarray) -> Ruled:
    return left + right, lambda gradient: (gradient, gradient)


def multiply(use: Use, left: np.ndarray, right: np.ndarray) -> Ruled:
    def unstretched(gradient: np.ndarray, shape: Tuple[int, ...]) -> np.ndarray:
        stretched = tuple(axis for axis, size in enumerate(shape) if size != gradient.shape[axis])
        return np.asarray(gradient.sum(stretched, keepdims=True))

    return left * right, lambda gradient: (unstretched(gradient * right, left.shape),
                                           unstretched(gradient * left, right.shape))


def flatten(use: Use, x: np.ndarray) -> Ruled:
    return x.reshape(len(x), -1), lambda gradient: (gradient.reshape(x.shape),)


def concat(use: Use, *parts: np.ndarray) -> Ruled:
    axis = use.axis(use.layer.axis)
    ends = np.cumsum([part.shape[axis] for part in parts])
    return np.concatenate(parts, axis), lambda gradient: np.split(gradient, ends[:-1], axis)


def stack(use: Use, *vectors: np.ndarray) -> Ruled:
    return np.stack(vectors, 1), lambda gradient: [gradient[:, i] for i in range(len(vectors))]


def scale(use: Use, x: np.ndarray) -> Ruled:
    factor = use.layer.factor
    return x * factor, lambda gradient: (gradient * factor,)


def pad(use: Use, x: np.ndarray) -> Ruled:
    def padded(images: np.ndarray, padding: Sequence[int]) -> np.ndarray:
        top, left, bottom, right = (max(0, amount) for amount in padding)
        above, before, below, after = (max(0, -amount) for amount in padding)
        height, width = images.shape[2:]
        kept = images[:, :, above:height - below, before:width - after]
        return np.pad(kept, [(0, 0), (0, 0), (top, bottom), (left, right)], "constant")

    padding = use.layer.padding  # back, what was put on is cropped and what was cropped gets zeros
    return padded(x, padding), lambda gradient: (padded(gradient, [-amount for amount in padding]),)


def slice_axis(use: Use, x: np.ndarray) -> Ruled:
    part = (slice(None),) * use.axis(use.layer.axis) + (slice(use.layer.start, use.layer.stop),)

    def pull(gradient: np.ndarray) -> Sequence[np.ndarray]:
        inputs = np.zeros_like(x)
        inputs[part] = gradient
        return (inputs,)

    return x[part], pull


def select(use: Use, x: np.ndarray) -> Ruled:
    axis = use.axis(use.layer.axis)

    def pull(gradient: np.ndarray) -> Sequence[np.ndarray]:
        inputs = np.zeros_like(x)
        np.moveaxis(inputs, axis, 0)[use.layer.index] = gradient
        return (inputs,)

    return np.take(x, use.layer.index, axis), pull


def image_to_sequence(use: Use, x: np.ndarray) -> Ruled:
    return x.reshape(x.shape[:2] + (-1,)).swapaxes(1, 2), lambda gradient: (gradient.swapaxes(1, 2).reshape(x.shape),)


def channel_scale(use: Use, x: np.ndarray) -> Ruled:
    weight = use.parameters["weight"].reshape(tuple(
        -1 if axis == use.axis("C") else 1 for axis in range(x.ndim)))

    def pull(gradient: np.ndarray) -> Sequence[np.ndarray]:
        use.gradients["weight"] = (gradient * x).sum(use.axes_but_channels())
        return (gradient * weight,)

    return x * weight, pull


def rows_to_sequence(use: Use, x: np.ndarray) -> Ruled:
    rows = x.transpose(0, 2, 3, 1)
    return rows.reshape(rows.shape[:2] + (-1,)), lambda gradient: (
        gradient.reshape(rows.shape).transpose(0, 3, 1, 2),)


RULES: Rules = {
    layers.RowsToSequence: rows_to_sequence,
    layers.Add: add, layers.Multiply: multiply, layers.Flatten: flatten, layers.Concat: concat, layers.Stack: stack,
    layers.Scale: scale, layers.Pad: pad, layers.Slice: slice_axis,
    layers.Select: select, layers.ImageToSequence: image_to_sequence, layers.ChannelScale: channel_scale,
}
