"""Pools and means."""

from typing import Any, Optional, Tuple

from photofinish import layers
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.frameworks._theano.native import Native, Rules, plain
from photofinish.layers import Spec


def _even(layer: Any, spec: Spec) -> Optional[Tuple[int, int]]:
    """What pool_2d pads both sides by; None where the layer's windows are not all whole ones of such an image."""
    (top, left, bottom, right), (out,) = layer.padding, layer.outputs(spec)
    if (top, left) != (bottom, right) or top >= layer.kernel[0] or left >= layer.kernel[1]:
        return None
    counts = [(spec.size(axis) + 2 * layer.padding[i] - layer.kernel[i]) // layer.stride[i] + 1
              for i, axis in enumerate("HW")]
    return (top, left) if counts == [out.size("H"), out.size("W")] else None


def _padded(layer: Any, spec: Spec, value: str = "") -> str:
    """An image padded by what the windows read around it."""
    (top, bottom), (left, right) = amounts(layer, spec, layer.outputs(spec)[0])
    return "pad({0}, %d, %d, %d, %d%s)" % (top, bottom, left, right, value)


def _max_pool(layer: layers.MaxPool, spec: Spec) -> Native:
    sides = _even(layer, spec)
    image = "{0}" if sides is not None else _padded(layer, spec, ", value=-3e38")
    padding = ", padding=%r" % (sides,) if sides and any(sides) else ""
    return Native("max_pool(%s, %r, %r%s)" % (image, tuple(layer.kernel), tuple(layer.stride), padding))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    sides, (down, across) = _even(layer, spec), shares(layer, spec, layer.outputs(spec)[0])
    image = "{0}" if sides is not None else _padded(layer, spec)
    padding = "pad=%r, " % (sides,) if sides and any(sides) else ""
    pooled = 'pool_2d(%s, %r, ignore_border=True, stride=%r, %smode="average_inc_pad")' % (
        image, tuple(layer.kernel), tuple(layer.stride), padding)
    uneven = any(share != 1 for share in down + across)
    return Native("at_edges(%s, %r, %r)" % (pooled, down, across) if uneven else pooled)


def _adaptive_average_pool(layer: layers.AdaptiveAveragePool, spec: Spec) -> Native:
    """Bins of one size are windows side by side."""
    size, count = (spec.size("H"), spec.size("W")), tuple(layer.size)
    if any(whole % bins for whole, bins in zip(size, count)):
        return Native("adaptive_average_pool({0}, %r, %r)" % (size, count))
    window = (size[0] // count[0], size[1] // count[1])
    return Native('pool_2d({0}, %r, ignore_border=True, mode="average_inc_pad")' % (window,))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    axes = tuple(1 + i for i, axis in enumerate(spec.axes) if axis != "C")
    return Native("{0}.mean(axis=%r%s)" % (axes, ", keepdims=True" if layer.keep_axes else ""))


RULES: Rules = {
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {
    layers.MaxPool: "in training the larger of two at a time, for of equal values pool_2d gives all the gradient; in "
                    "inference pool_2d",
    layers.AdaptiveAveragePool: "pool_2d where all bins have one size, else two matrix products: Theano has no "
                                "adaptive pools",
    layers.MaskedMean: "a product with the mask and two sums",
}
LIMITS = {
    layers.AveragePool: "padding that differs by side is put there first; what is not counted is divided out by a "
                        "constant, for average_exc_pad has no gradient where there is padding",
}

HELPERS = {
    "max_pool": '''\
def max_pool(x, kernel, stride, padding=(0, 0)):
    """Of equal values the first has the gradient; pool_2d would give it to all of them."""
    if not Layer.training:
        return pool_2d(x, kernel, ignore_border=True, stride=stride, pad=padding)
    (height, width), (down, across), (rows, columns) = kernel, stride, padding
    x = pad(x, rows, rows, columns, columns, value=-3e38) if any(padding) else x
    x = largest(x.dimshuffle(0, 1, 3, 2), width, across).dimshuffle(0, 1, 3, 2)
    return largest(x, height, down)
''',
    "largest": '''\
def largest(x, taps, step):
    """Of the windows of each column."""
    span = (x.shape[2] - taps) // step * step + 1
    found = x[:, :, :span:step]
    for i in range(1, taps):
        each = x[:, :, i:i + span:step]
        found = T.switch(each > found, each, found)
    return found
''',
    "at_edges": '''\
def at_edges(x, down, across):
    """An average pool some of whose windows, down and across, hold fewer positions than they are divided by."""
    return x * np.outer(down, across).astype(np.float32)
''',
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, size, count):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    y = T.dot(x, bins(size[1], count[1])).dimshuffle(0, 1, 3, 2)
    return T.dot(y, bins(size[0], count[0])).dimshuffle(0, 1, 3, 2)
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
    mask = T.cast(mask, "float32")
    return (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
''',
}
