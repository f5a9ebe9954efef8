"""Pools and means."""

from typing import Any

from photofinish import layers
from photofinish.frameworks._tinygrad.native import Native, Rules, method, plain
from photofinish.layers import Spec


def _pool(name: str, layer: Any, **options: Any) -> Native:
    top, left, bottom, right = layer.padding
    padding = (left, right, top, bottom) if any(layer.padding) else None
    return method(name, tuple(layer.kernel), stride=tuple(layer.stride), padding=padding,
                  ceil_mode=True if layer.ceil else None, **options)


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    axes = tuple(1 + i for i, axis in enumerate(spec.axes) if axis != "C")
    return method("mean", axes, keepdim=True if layer.keep_axes else None)


RULES: Rules = {
    layers.MaxPool: lambda layer, spec: _pool("max_pool2d", layer),
    layers.AveragePool: lambda layer, spec: _pool(
        "avg_pool2d", layer, count_include_pad=None if layer.count_padding else False),
    layers.AdaptiveAveragePool: lambda layer, spec: Native("adaptive_average_pool({0}, %d, %d)" % tuple(layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {
    layers.AdaptiveAveragePool: "two matrix products: tinygrad has no adaptive pools",
    layers.MaskedMean: "a product with the mask and two sums",
}

HELPERS = {
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, height, width):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    return bins(x.shape[2], height) @ x @ bins(x.shape[3], width).transpose()
''',
    "bins": '''\
def bins(size, count):
    """Row i averages bin i."""
    matrix = np.zeros((count, size), np.float32)
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[i, start:stop] = 1 / (stop - start)
    return Tensor(matrix)
''',
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    return (x * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)
''',
}
