"""Elementwise functions and random layers."""

from typing import Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use


def relu(use: Use, x: np.ndarray) -> Ruled:
    return np.maximum(x, 0), lambda gradient: (gradient * (x > 0),)


def clip(use: Use, x: np.ndarray) -> Ruled:
    low, high = use.layer.low, use.layer.high
    return np.clip(x, low, high), lambda gradient: (gradient * ((x > low) & (x < high)),)


def logistic(x: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(x))  # of a negative number, so it cannot overflow
    return np.asarray(np.where(x >= 0, 1 / (1 + decay), decay / (1 + decay)))


def sigmoid(use: Use, x: np.ndarray) -> Ruled:
    y = logistic(x)
    return y, lambda gradient: (gradient * y * (1 - y),)


def tanh(use: Use, x: np.ndarray) -> Ruled:
    y = np.tanh(x)
    return y, lambda gradient: (gradient * (1 - y * y),)


def swish(use: Use, x: np.ndarray) -> Ruled:
    gate = logistic(x)
    return x * gate, lambda gradient: (gradient * gate * (1 + x * (1 - gate)),)


def _drop(use: Use, x: np.ndarray, mask_shape: Tuple[int, ...]) -> Ruled:
    if not (use.training and use.layer.random):
        return x, lambda gradient: (gradient,)
    kept = use.generator.uniform(size=mask_shape) >= use.layer.rate
    scale = kept.astype(x.dtype) / (1 - use.layer.rate)
    return x * scale, lambda gradient: (gradient * scale,)


def dropout(use: Use, x: np.ndarray) -> Ruled:
    return _drop(use, x, x.shape)


def stochastic_depth(use: Use, x: np.ndarray) -> Ruled:
    return _drop(use, x, x.shape[:1] + (1,) * (x.ndim - 1))


RULES: Rules = {
    layers.Relu: relu, layers.Clip: clip, layers.Sigmoid: sigmoid, layers.Tanh: tanh, layers.Swish: swish,
    layers.Dropout: dropout, layers.StochasticDepth: stochastic_depth,
}
