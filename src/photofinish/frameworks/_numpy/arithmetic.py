"""Sums, products, and layers that only move values."""

from typing import Tuple

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


RULES: Rules = {
    layers.Add: add, layers.Multiply: multiply, layers.Flatten: flatten, layers.Concat: concat, layers.Stack: stack,
}
