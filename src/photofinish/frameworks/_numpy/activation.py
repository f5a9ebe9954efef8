"""Elementwise functions and random layers."""

import math
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


def leaky_relu(use: Use, x: np.ndarray) -> Ruled:
    slope = np.where(x > 0, 1, use.layer.alpha).astype(x.dtype)
    return x * slope, lambda gradient: (gradient * slope,)


def elu(use: Use, x: np.ndarray) -> Ruled:
    below = use.layer.alpha * np.expm1(np.minimum(x, 0))  # of nothing positive, so it cannot overflow
    return np.where(x > 0, x, below), lambda gradient: (gradient * np.where(x > 0, 1, below + use.layer.alpha),)


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


ERROR_FUNCTION = np.vectorize(math.erf, otypes=[np.float64])  # NumPy has none of its own


def gelu(use: Use, x: np.ndarray) -> Ruled:
    if use.layer.approximate == "tanh":
        rate = math.sqrt(2 / math.pi)
        bent = np.tanh(rate * (x + 0.044715 * x ** 3))
        share, slope = (1 + bent) / 2, (1 - bent * bent) / 2 * rate * (1 + 3 * 0.044715 * x * x)
    else:
        share = (1 + ERROR_FUNCTION(x / math.sqrt(2)).astype(x.dtype)) / 2  # the normal distribution and its density
        slope = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return x * share, lambda gradient: (gradient * (share + x * slope),)


RULES: Rules = {
    layers.Relu: relu, layers.Clip: clip, layers.Sigmoid: sigmoid, layers.Tanh: tanh, layers.Swish: swish,
    layers.LeakyRelu: leaky_relu, layers.Elu: elu, layers.Dropout: dropout, layers.StochasticDepth: stochastic_depth,
    layers.Gelu: gelu,
}
