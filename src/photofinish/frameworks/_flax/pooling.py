"""Pools and means."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.frameworks._flax.use import Functions, Rules, Use, always


def _pool(use: Use, kind: str, **options: bool) -> str:
    around = amounts(use.layer, use.spec, use.out)
    text = call("", tuple(use.layer.kernel), strides=tuple(use.layer.stride),
                padding=around if any(map(any, around)) else None, **options)
    return "%s({0}, %s" % (kind, text[1:])


def _average_pool(use: Use) -> Native:
    edges = shares(use.layer, use.spec, use.out)
    if set(edges[0] + edges[1]) == {1.0}:  # every window counts whole
        return Native(_pool(use, "nnx.avg_pool"))
    if not use.layer.count_padding:
        return Native(_pool(use, "nnx.avg_pool", count_include_pad=False))
    return Native("at_edges(%s, %r, %r)" % ((_pool(use, "nnx.avg_pool"),) + tuple(edges)))


def _average_pool_function(use: Use) -> str:
    edges = shares(use.layer, use.spec, use.out)
    pool = _pool(use, "average_pool")
    return pool if set(edges[0] + edges[1]) == {1.0} else "at_edges(%s, %r, %r)" % ((pool,) + tuple(edges))


def _global_average_pool(use: Use) -> Native:
    axes = tuple(1 + i for i, axis in enumerate(use.axes) if axis != "C")
    return Native("jnp.mean({0}, axis=%r%s)" % (axes, ", keepdims=True" if use.layer.keep_axes else ""))


RULES: Rules = {
    layers.MaxPool: lambda use: Native(_pool(use, "nnx.max_pool")),
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda use: Native("adaptive_average_pool({0}, %d, %d)" % tuple(use.layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: always("masked_mean({0}, {1})"),
}

FUNCTIONS: Functions = {
    layers.MaxPool: lambda use: _pool(use, "max_pool"),
    layers.AveragePool: _average_pool_function,
}

LOWERED = {
    layers.AdaptiveAveragePool: "two matrix products: neither flax nor JAX has adaptive pools",
    layers.MaskedMean: "a product with the mask and two sums",
}
LIMITS = {layers.AveragePool: "windows that reach beyond counted padding (ceil) are divided right by a constant"}

HELPERS = {
    "at_edges": '''\
def at_edges(x, down, across):
    """An average pool whose last windows, down and across, hold fewer positions than they are divided by."""
    return x * np.outer(down, across)[..., None].astype(x.dtype)
''',
    "adaptive_average_pool": '''\
def adaptive_average_pool(x, height, width):
    """Bin i of n covers floor(i * size / n) up to ceil((i + 1) * size / n)."""
    down, across = bins(x.shape[1], height), bins(x.shape[2], width)
    return jnp.einsum("bhwc,hi,wj->bijc", x, down.astype(x.dtype), across.astype(x.dtype))
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
    return jnp.sum(x * mask[..., None], axis=1) / jnp.sum(mask, axis=1, keepdims=True)
''',
}

PLAIN_HELPERS = {
    "max_pool": '''\
def max_pool(x, kernel, strides, padding=((0, 0), (0, 0))):
    """The largest value in each window."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, *kernel, 1), (1, *strides, 1),
                                 ((0, 0), *padding, (0, 0)))
''',
    "average_pool": '''\
def average_pool(x, kernel, strides, padding=((0, 0), (0, 0))):
    """The mean of each window, padding included."""
    total = jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, *kernel, 1), (1, *strides, 1), ((0, 0), *padding, (0, 0)))
    return total / (kernel[0] * kernel[1])
''',
}
