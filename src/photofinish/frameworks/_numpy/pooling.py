"""Pools and means."""

from typing import Optional, Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use
from photofinish.frameworks._numpy.windows import Windows


def max_pool(use: Use, x: np.ndarray) -> Ruled:
    windows = Windows(use)
    cut = windows.cut(x, fill=-np.inf)
    flat = cut.reshape(cut.shape[:2] + (-1,) + windows.count)
    first = flat.argmax(2)
    positions = np.arange(windows.kernel[0] * windows.kernel[1]).reshape(-1, 1, 1)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        chosen = np.expand_dims(first, 2) == positions
        return (windows.add_back((chosen * gradient[:, :, None]).reshape(cut.shape)),)

    return flat.max(2), pull


def average_pool(use: Use, x: np.ndarray) -> Ruled:
    windows = Windows(use)
    covered = [windows.covered(axis, use.layer.count_padding) for axis in (0, 1)]
    share = 1 / np.outer(*covered).astype(x.dtype)
    cut = windows.cut(x)
    return cut.sum((2, 3)) * share, lambda gradient: (
        windows.add_back(np.broadcast_to((gradient * share)[:, :, None, None], cut.shape)),)


def adaptive_average_pool(use: Use, x: np.ndarray) -> Ruled:
    def bins(size: int, count: int) -> np.ndarray:
        matrix = np.zeros((count, size), x.dtype)
        for i in range(count):
            start, stop = i * size // count, -(-(i + 1) * size // count)
            matrix[i, start:stop] = 1 / (stop - start)
        return matrix

    down, across = (bins(size, count) for size, count in zip(x.shape[2:], use.layer.size))
    return down @ x @ across.T, lambda gradient: (down.T @ gradient @ across,)


def global_average_pool(use: Use, x: np.ndarray) -> Ruled:
    axes = use.axes_but_channels()[1:]
    mean = x.mean(axes, keepdims=True)
    count = x.size // mean.size
    return mean if use.layer.keep_axes else mean.reshape(x.shape[:2]), lambda gradient: (
        np.broadcast_to(gradient.reshape(mean.shape) / count, x.shape),)


def masked_mean(use: Use, x: np.ndarray, mask: np.ndarray) -> Ruled:
    share = mask[:, :, None] / mask.sum(1)[:, None, None].astype(x.dtype)
    return (x * share).sum(1), lambda gradient: (gradient[:, None] * share, None)


RULES: Rules = {
    layers.MaxPool: max_pool, layers.AveragePool: average_pool, layers.AdaptiveAveragePool: adaptive_average_pool,
    layers.GlobalAveragePool: global_average_pool, layers.MaskedMean: masked_mean,
}
