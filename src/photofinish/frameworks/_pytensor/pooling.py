"""Pools and means."""

from typing import Any

from photofinish import layers
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.frameworks._pytensor.native import Native, Rules, plain
from photofinish.layers import Spec


def _pooled(function: str, layer: Any, spec: Spec, value: str = "") -> str:
    """With the image padded by what the windows read around it."""
    (top, bottom), (left, right) = amounts(layer, spec, layer.outputs(spec)[0])
    image = "{0}"
    if any((top, bottom, left, right)):
        image = "pad({0}, %d, %d, %d, %d%s)" % (top, bottom, left, right, value)
    return "%s(%s, %r, %r)" % (function, image, tuple(layer.kernel), tuple(layer.stride))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    pooled, (down, across) = _pooled("average_pool", layer, spec), shares(layer, spec, layer.outputs(spec)[0])
    uneven = any(share != 1 for share in down + across)
    return Native("at_edges(%s, %r, %r)" % (pooled, down, across) if uneven else pooled)


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    axes = tuple(1 + i for i, axis in enumerate(spec.axes) if axis != "C")
    return Native("{0}.mean(axis=%r%s)" % (axes, ", keepdims=True" if layer.keep_axes else ""))


RULES: Rules = {
    layers.MaxPool: lambda layer, spec: Native(_pooled("max_pool", layer, spec, ", value=-3e38")),
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native("adaptive_average_pool({0}, %d, %d)" % tuple(layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {
    layers.MaxPool: "the larger of two at a time, over the places of the window: PyTensor has no pools",
    layers.AveragePool: "a sum over the places of the window: PyTensor has no pools",
    layers.AdaptiveAveragePool: "two matrix products: PyTensor has no pools",
    layers.MaskedMean: "a product with the mask and two sums",
}

HELPERS = {
    "max_pool": '''\
def max_pool(x, kernel, stride):
    """Of equal values the first has the gradient."""
    first, *others = windows(x, kernel, stride)
    for each in others:
        first = pt.switch(each > first, each, first)
    return first
''',
    "average_pool": '''\
def average_pool(x, kernel, stride):
    return sum(windows(x, kernel, stride)) * np.float32(1 / (kernel[0] * kernel[1]))
''',
    "at_edges": '''\
def at_edges(x, down, across):
    """An average pool some of whose windows, down and across, hold fewer positions than they are divided by."""
    return x * np.outer(down, across).astype(np.float32)
''',
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, height, width):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    y = pt.dot(x, bins(x.type.shape[3], width)).transpose(0, 1, 3, 2)
    return pt.dot(y, bins(x.type.shape[2], height)).transpose(0, 1, 3, 2)
''',
    "bins": '''\
def bins(size, count):
    """Column i averages bin i."""
    matrix = np.zeros((size, count), np.float32)
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[start:stop, i] = 1 / (stop - start)
    return matrix
''',
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    mask = mask.astype("float32")
    return (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
''',
    "windows": '''\
def windows(x, kernel, stride):
    """For each place of the kernel what the windows of an image have there: (samples, channels, windows down, across).
    """
    counts = [(size - taps) // step + 1 for size, taps, step in zip(x.type.shape[2:], kernel, stride)]
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            down, across = (slice(begin, begin + (count - 1) * step + 1, step)
                            for begin, count, step in zip((i, j), counts, stride))
            yield x[:, :, down, across]
''',
}
