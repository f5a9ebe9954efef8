"""Pools and means."""

from typing import Any, Tuple

from photofinish import layers
from photofinish.frameworks._common.windows import amounts
from photofinish.frameworks._paddle.convolution import edges
from photofinish.frameworks._paddle.native import Native, Rules, plain, write
from photofinish.layers import Spec


def _read(layer: Any, spec: Spec) -> Tuple[int, int, int, int]:
    """The padding (top, left, bottom, right) that the windows read, so that none is left over or wanting: Paddle's own
    ceil_mode has windows that lie in the padding altogether."""
    (out,) = layer.outputs(spec)
    (top, bottom), (left, right) = amounts(layer, spec, out)
    return top, left, bottom, right


def _max_pool(layer: layers.MaxPool, spec: Spec) -> Native:
    return Native(write("F.max_pool2d", "{0}", layer.kernel, layer.stride, padding=edges(_read(layer, spec))))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    """Paddle counts no padding (exclusive) unless it is told to: what counts is put there first."""
    top, left, bottom, right = _read(layer, spec)
    image = "{0}"
    if layer.count_padding and any(layer.padding):
        image = "F.pad({0}, %r)" % [layer.padding[i] for i in (1, 3, 0, 2)]
        top, left, bottom, right = 0, 0, max(bottom - layer.padding[2], 0), max(right - layer.padding[3], 0)
    return Native(write("F.avg_pool2d", image, layer.kernel, layer.stride, padding=edges((top, left, bottom, right))))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    if spec.axes == "TC" and not layer.keep_axes:
        return Native("paddle.mean({0}, 1)")
    pooled = {"CHW": "F.adaptive_avg_pool2d({0}, 1)"}[spec.axes]
    return Native(pooled if layer.keep_axes else "paddle.flatten({}, 1)".format(pooled))


RULES: Rules = {
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native(write("F.adaptive_avg_pool2d", "{0}", layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {layers.MaskedMean: "a product with the mask and two sums"}
LIMITS = {layers.AveragePool: "padding that counts is put there first, by F.pad"}

HELPERS = {
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    mask = mask.unsqueeze(-1).astype(x.dtype)
    return (x * mask).sum(1) / mask.sum(1)
''',
}
