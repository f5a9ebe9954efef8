"""Pools and means."""

from typing import Any, List, Sequence, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use
from photofinish.layers import Spec


def _reach(layer: Any, spec: Spec) -> List[int]:
    """How far beyond the image the last window goes, down and across."""
    (out,) = layer.outputs(spec)
    return [max(0, (out.size(axis) - 1) * layer.stride[i] + layer.kernel[i] - layer.padding[i] - spec.size(axis))
            for i, axis in enumerate("HW")]


def _edges(layer: Any, spec: Spec) -> Tuple[int, ...]:
    """The padding, up to the end of the last window where ceil adds one: said so, no ceil_mode is needed, on whose
    last window versions of ONNX and of its engines disagree."""
    return tuple(layer.padding[:2]) + (tuple(_reach(layer, spec)) if layer.ceil else tuple(layer.padding[2:]))


def _max_pool(use: Use, x: str) -> str:
    layer = use.layer
    return use("MaxPool", x, kernel_shape=layer.kernel, strides=layer.stride, pads=_edges(layer, use.specs[0]))


def _average_pool(use: Use, x: str) -> str:
    layer, spec = use.layer, use.specs[0]
    y = use("AveragePool", x, kernel_shape=layer.kernel, strides=layer.stride, pads=_edges(layer, spec),
            count_include_pad=int(layer.count_padding))
    if not layer.count_padding or all(far <= edge for far, edge in zip(_reach(layer, spec), layer.padding[2:])):
        return y
    return use("Mul", y, use.constant(_share_beyond(layer, spec)))  # the last windows go beyond what counts


def _share_beyond(layer: Any, spec: Spec) -> np.ndarray:
    """Kernel positions over those of them that lie on the image and its padding, for each window."""
    (out,) = layer.outputs(spec)
    counted = []
    for i, axis in enumerate("HW"):
        starts = np.arange(out.size(axis)) * layer.stride[i]
        end = layer.padding[i] + spec.size(axis) + layer.padding[2 + i]
        counted.append(np.minimum(starts + layer.kernel[i], end) - starts)
    return np.asarray(layer.kernel[0] * layer.kernel[1] / np.outer(*counted))


def _bins(size: int, count: int) -> np.ndarray:
    """(count, size): each row takes the mean of its bin."""
    matrix = np.zeros((count, size))
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[i, start:stop] = 1.0 / (stop - start)
    return matrix


def _adaptive_average_pool(use: Use, x: str) -> str:
    sizes: Sequence[int] = [use.specs[0].size(axis) for axis in "HW"]
    counts = use.layer.size
    if all(size % count == 0 for size, count in zip(sizes, counts)):
        kernel = tuple(size // count for size, count in zip(sizes, counts))
        return use("AveragePool", x, kernel_shape=kernel, strides=kernel)
    down, across = (_bins(size, count) for size, count in zip(sizes, counts))
    return use("MatMul", use("MatMul", use.constant(down), x), use.constant(across.T))


def _global_average_pool(use: Use, x: str) -> str:
    pooled = use("GlobalAveragePool", x)
    return pooled if use.layer.keep_axes else use("Flatten", pooled, axis=1)


def _masked_mean(use: Use, x: str, mask: str) -> str:
    time = use.integers(1)
    seen = use("Unsqueeze", use("Cast", mask, to="float32"), use.integers(2))
    total = use("ReduceSum", use("Mul", x, seen), time, keepdims=0)
    return use("Div", total, use("ReduceSum", seen, time, keepdims=0))


RULES: Rules = {
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: _masked_mean,
}

LOWERED = {layers.MaskedMean: "a product with the mask and two sums"}
LIMITS = {
    layers.MaxPool: "ceil is padding up to the end of the last window",
    layers.AveragePool: "ceil is padding up to the end of the last window, and a product where that window counts less",
    layers.AdaptiveAveragePool: "two products with constant matrices where bins overlap",
}
