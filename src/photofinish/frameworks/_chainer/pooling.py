"""Pools and means."""

from typing import Any, Optional

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, call, plain, square
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.layers import Spec


def _cover_all(layer: Any, spec: Spec) -> Optional[bool]:
    """The cover_all by which Chainer's max pool sees the same windows, None if neither does."""
    (top, left, bottom, right), (out,) = layer.padding, layer.outputs(spec)
    if (top, left) != (bottom, right):
        return None
    spans = [spec.size(axis) + 2 * layer.padding[i] - layer.kernel[i] for i, axis in enumerate("HW")]
    for cover in (False, True):
        steps = [-(-span // stride) if cover else span // stride for span, stride in zip(spans, layer.stride)]
        if [each + 1 for each in steps] == [out.size("H"), out.size("W")]:
            return cover
    return None


def _pool(kind: str, x: str, layer: Any, *, pad: Any = None, **options: Any) -> str:
    return call(kind, square(layer.kernel), square(layer.stride), pad=pad, **options).replace("(", "(%s, " % x, 1)


def _padded(layer: Any, spec: Spec, value: str = "") -> str:
    down, across = amounts(layer, spec, layer.outputs(spec)[0])
    return 'F.pad({0}, %r, "constant"%s)' % (((0, 0), (0, 0), down, across), value)


def _max_pool(layer: layers.MaxPool, spec: Spec) -> Native:
    cover = _cover_all(layer, spec)
    if cover is not None:
        return Native(_pool("F.max_pooling_2d", "{0}", layer, pad=square(layer.padding[:2]), cover_all=cover))
    return Native(_pool("F.max_pooling_2d", _padded(layer, spec, ", constant_values=-np.inf"), layer, cover_all=False))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    if _cover_all(layer, spec) is False and (layer.count_padding or not any(layer.padding)):
        return Native(_pool("F.average_pooling_2d", "{0}", layer, pad=square(layer.padding[:2])))
    edges = shares(layer, spec, layer.outputs(spec)[0])
    return Native("at_edges(%s, %r, %r)" % (
        _pool("F.average_pooling_2d", _padded(layer, spec), layer), edges[0], edges[1]))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    axes = {"CHW": (2, 3), "TC": (1,)}[spec.axes]
    if spec.axes == "TC" and layer.keep_axes:
        raise KeyError(spec.axes)
    return Native("F.mean({0}, axis=%r%s)" % (axes, ", keepdims=True" if layer.keep_axes else ""))


RULES: Rules = {
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native("adaptive_average_pool({0}, %d, %d)" % tuple(layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {
    layers.AdaptiveAveragePool: "two matrix products: Chainer has no adaptive pools",
    layers.MaskedMean: "a product with the mask and two sums",
}
LIMITS = {
    layers.MaxPool: "padding that differs by side is put there first, by F.pad",
    layers.AveragePool: "padding that is not counted, or differs by side, is put there first and divided out by a "
                        "constant",
}

HELPERS = {
    "at_edges": '''\
def at_edges(x, down, across):
    """An average pool some of whose windows, down and across, hold fewer positions than they are divided by."""
    return x * np.broadcast_to(np.outer(down, across).astype(x.dtype), x.shape)
''',
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, height, width):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    y = F.tensordot(x, bins(x.shape[2], height).astype(x.dtype), axes=((2,), (0,)))
    y = F.tensordot(y, bins(x.shape[3], width).astype(x.dtype), axes=((2,), (0,)))
    return y
''',
    "bins": '''\
def bins(size, count):
    """Column i averages bin i."""
    matrix = np.zeros((size, count))
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[start:stop, i] = 1 / (stop - start)
    return matrix
''',
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    share = mask / mask.sum(axis=1, keepdims=True)
    return F.sum(x * np.broadcast_to(share[:, :, None].astype(x.dtype), x.shape), axis=1)
''',
}
