"""Pools and means."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call, square
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.frameworks._mlx.use import Rules, Use, always, padded


def _pool(use: Use, kind: str, value: str = "") -> Native:
    """A module of mlx.nn, which pads both sides alike; other padding is put there first."""
    layer = use.layer
    (top, bottom), (left, right) = amounts(layer, use.spec, use.out)
    even = layer.padding[:2] == layer.padding[2:] and bottom <= top and right <= left
    made = call(kind, square(layer.kernel), stride=square(layer.stride), padding=square((top, left)) if even else None)
    return Native("{self}(%s)" % ("{0}" if even else padded("{0}", top, bottom, left, right, value)), made)


def _average_pool(use: Use) -> Native:
    edges = shares(use.layer, use.spec, use.out)
    pool = _pool(use, "nn.AvgPool2d")
    if set(edges[0] + edges[1]) == {1.0}:  # every window counts whole
        return pool
    return pool._replace(call="at_edges(%s, %r, %r)" % ((pool.call,) + tuple(edges)))


def _global_average_pool(use: Use) -> Native:
    axes = tuple(1 + i for i, axis in enumerate(use.axes) if axis != "C")
    return Native("mx.mean({0}, axis=%r%s)" % (axes, ", keepdims=True" if use.layer.keep_axes else ""))


RULES: Rules = {
    layers.MaxPool: lambda use: _pool(use, "nn.MaxPool2d", "-mx.inf"),
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda use: Native("adaptive_average_pool({0}, %d, %d)" % tuple(use.layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: always("masked_mean({0}, {1})"),
}

LOWERED = {
    layers.AdaptiveAveragePool: "two matrix products: mlx.nn has no adaptive pools",
    layers.MaskedMean: "a product with the mask and two sums",
}
LIMITS = {
    layers.MaxPool: "padding that differs by side is put there first, by mx.pad",
    layers.AveragePool: "padding that differs by side is put there first, by mx.pad; windows that count in part are "
                        "divided right by a constant",
}

HELPERS = {
    "at_edges": '''\
def at_edges(x, down, across):
    """An average pool whose windows, down and across, hold fewer positions than they are divided by."""
    return x * (mx.array(down)[:, None, None] * mx.array(across)[:, None])
''',
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, height, width):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    x = mx.tensordot(bins(x.shape[1], height), x, axes=((1,), (1,)))  # rows, batch, columns, channels
    return mx.tensordot(x, bins(x.shape[2], width), axes=((2,), (1,))).transpose(1, 0, 3, 2)
''',
    "bins": '''\
@lru_cache(maxsize=None)
def bins(size, count):
    """Row i averages bin i."""
    matrix = np.zeros((count, size), np.float32)
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[i, start:stop] = 1 / (stop - start)
    return mx.array(matrix)
''',
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    return mx.sum(x * mask[:, :, None], axis=1) / mx.sum(mask, axis=1, keepdims=True)
''',
}
