"""Pools and means."""

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call, show, square
from photofinish.frameworks._common.windows import shares
from photofinish.frameworks._keras.use import Printed, Rules, Use
from photofinish.frameworks._keras.windows import padding, zero_padding


def max_pool(use: Use, pad: str = "ops.pad") -> Printed:
    """`pad` is what pads with a constant."""
    same, amounts = padding(use)
    pool = use.keras("MaxPooling2D", square(use.layer.kernel), strides=square(use.layer.stride), padding=same)
    if same or not np.any(amounts):
        return [pool]
    return ["{}({{0}}, ((0, 0), {}, {}, (0, 0)), constant_values=-np.inf)".format(pad, *amounts), pool]


def average_pool(use: Use, rescale: str = "layers.Rescaling({edges}, name={name})({{0}})") -> Printed:
    """`rescale` is how values are multiplied by a constant."""
    layer = use.layer
    same, amounts = padding(use)
    lopsided = use.backend == "torch" and any(first != last for first, last in amounts)  # Keras counts it there, too
    if not np.any(amounts) or (same and not layer.count_padding and not lopsided):
        return [use.keras("AveragePooling2D", square(layer.kernel), strides=square(layer.stride), padding=same)]
    # Keras divides by the whole window once the image is padded: put the divisors right at the edges
    down, across = shares(layer, use.spec, use.out)
    pool = call("layers.AveragePooling2D", square(layer.kernel), strides=square(layer.stride), name=use.name)
    edges = [] if set(down + across) == {1.0} else [rescale.format(
        edges="np.outer({}, {})[..., None]".format(down, across), name=show(use.name + ".edges"))]
    return zero_padding(use, amounts) + [pool + "({0})"] + edges


def _adaptive_average_pool(use: Use) -> Printed:
    sizes, counts = (use.spec.size("H"), use.spec.size("W")), tuple(use.layer.size)
    if sizes == counts:
        return [use.keras("Identity")]
    if sizes[0] % counts[0] == 0 and sizes[1] % counts[1] == 0:
        return [use.keras("AveragePooling2D", square((sizes[0] // counts[0], sizes[1] // counts[1])))]
    if all(-(-size // count) < size for size, count in zip(sizes, counts)):
        return [use.keras("AdaptiveAveragePooling2D", square(counts))]
    return ['ops.einsum("bhwc,hi,wj->bijc", {{0}}, bins({}, {}), bins({}, {}))'.format(
        sizes[0], counts[0], sizes[1], counts[1])]


def _global_average_pool(use: Use) -> Printed:
    if use.spec.axes not in ("CHW", "TC"):
        raise Unsupported("{} (GlobalAveragePool): no Keras layer for axes {}".format(use.name, use.spec.axes))
    kind = {"CHW": "GlobalAveragePooling2D", "TC": "GlobalAveragePooling1D"}[use.spec.axes]
    return [use.keras(kind, keepdims=True if use.layer.keep_axes else None)]


RULES: Rules = {
    layers.MaxPool: max_pool,
    layers.AveragePool: average_pool,
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: lambda use: [call("layers.GlobalAveragePooling1D", name=use.name) + "({0}, mask={1})"],
}

LIMITS = {
    layers.MaxPool: "padding other than Keras' own is put there first, by ops.pad",
    layers.AveragePool: "padding other than Keras' own is put there first and divided out by a constant",
    layers.AdaptiveAveragePool: "where a bin is as long as the axis and does not divide it, two matrix products",
}

HELPERS = {
    "bins": '''
def bins(size, count):
    """Column i averages bin i of an adaptive pool. Keras' own layer fails where a bin is as long as the axis."""
    matrix = np.zeros((size, count), keras.config.floatx())
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[start:stop, i] = 1 / (stop - start)
    return matrix
''',
}
