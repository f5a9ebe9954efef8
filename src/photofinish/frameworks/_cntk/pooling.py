"""Pools and means."""

from typing import Any

from photofinish import layers
from photofinish.frameworks._cntk.native import Native, Rules, plain
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.layers import Spec


def _pooled(kind: str, layer: Any, spec: Spec, value: str = "") -> str:
    """With the image padded by what the windows read around it."""
    down, across = amounts(layer, spec, layer.outputs(spec)[0])
    image = "C.pad({0}, %r%s)" % ([(0, 0), down, across], value) if any(down + across) else "{0}"
    return "C.pooling(%s, C.%s_POOLING, %r, %r)" % (image, kind, layer.kernel, layer.stride)


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    pooled, (down, across) = _pooled("AVG", layer, spec), shares(layer, spec, layer.outputs(spec)[0])
    uneven = any(share != 1 for share in down + across)
    return Native("at_edges(%s, %r, %r)" % (pooled, down, across) if uneven else pooled)


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    text = "C.reduce_mean({0}, axis=%r)" % (tuple(i for i, axis in enumerate(spec.axes) if axis != "C"),)
    return Native(text if layer.keep_axes else "C.reshape(%s, (%d,))" % (text, spec.size("C")))


RULES: Rules = {
    layers.MaxPool: lambda layer, spec: Native(_pooled(
        "MAX", layer, spec, ", mode=C.CONSTANT_PAD, constant_value=-3e38")),
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native("adaptive_average_pool({0}, %d, %d)" % tuple(layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {
    layers.AdaptiveAveragePool: "two matrix products: CNTK has no adaptive pools",
    layers.MaskedMean: "a product with the mask and two sums",
}
LIMITS = {
    layers.MaxPool: "padded first, by C.pad: CNTK's own padding takes no amounts",
    layers.AveragePool: "padded first, by C.pad; what is not counted is divided out by a constant",
}

HELPERS = {
    "at_edges": '''\
def at_edges(x, down, across):
    """An average pool some of whose windows, down and across, hold fewer positions than they are divided by."""
    return x * C.constant(np.outer(down, across).astype(np.float32)[None])
''',
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, height, width):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    y = C.times(x, C.constant(bins(x.shape[2], width)))
    y = C.times(C.transpose(y, (0, 2, 1)), C.constant(bins(x.shape[1], height)))
    return C.transpose(y, (0, 2, 1))
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
    """The mean over time of the steps whose mask is 1."""
    share = C.reshape(mask / C.reduce_sum(mask), (-1, 1))
    return C.reshape(C.reduce_sum(x * share, axis=0), (-1,))
''',
}
