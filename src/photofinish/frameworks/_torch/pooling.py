"""Pools and means."""

from typing import Any, Optional, Tuple

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, plain, write
from photofinish.layers import Spec


def _edges(layer: Any, spec: Spec) -> Optional[Tuple[int, ...]]:
    """F.pad's (left, right, top, bottom) up to the end of the last window, where the padding is not one
    that PyTorch's pools take: equal on both sides and at most half a window."""
    top, left, bottom, right = layer.padding
    if (top, left) == (bottom, right) and 2 * top <= layer.kernel[0] and 2 * left <= layer.kernel[1]:
        return None
    (out,) = layer.outputs(spec)
    reach = [(out.size(axis) - 1) * layer.stride[i] + layer.kernel[i] - spec.size(axis) for i, axis in enumerate("HW")]
    return (left, reach[1] - left, top, reach[0] - top)


def _max_pool(layer: layers.MaxPool, spec: Spec) -> Native:
    edges = _edges(layer, spec)
    if edges is None:
        return Native(write("F.max_pool2d", "{0}", layer.kernel, layer.stride, padding=layer.padding[:2],
                             ceil_mode=layer.ceil))
    return Native(write("F.max_pool2d", 'F.pad({0}, %r, value=float("-inf"))' % (edges,), layer.kernel, layer.stride))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    edges = _edges(layer, spec)
    if edges is None:
        return Native(write("F.avg_pool2d", "{0}", layer.kernel, layer.stride, padding=layer.padding[:2],
                             ceil_mode=layer.ceil, count_include_pad=layer.count_padding))
    top, left, bottom, right = layer.padding
    counted = (left, right, top, bottom) if layer.count_padding else (0, 0, 0, 0)
    return Native(write("uneven_average_pool", "{0}", layer.kernel, layer.stride, edges, counted))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    if spec.axes == "TC" and not layer.keep_axes:
        return Native("torch.mean({0}, 1)")
    pooled = {"CHW": "F.adaptive_avg_pool2d({0}, 1)"}[spec.axes]
    return Native(pooled if layer.keep_axes else "torch.flatten({}, 1)".format(pooled))


RULES: Rules = {
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native(write("F.adaptive_avg_pool2d", "{0}", layer.size)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean({0}, {1})"),
}

LOWERED = {layers.MaskedMean: "a product with the mask and two sums"}
LIMITS = {
    layers.MaxPool: "padding that differs by side is put there first, by F.pad",
    layers.AveragePool: "padding that differs by side is put there first and divided out by a second pool",
}

HELPERS = {
    "masked_mean": '''\
def masked_mean(x, mask):
    """The mean over time of the steps whose mask is true."""
    mask = mask.unsqueeze(-1).to(x.dtype)
    return (x * mask).sum(1) / mask.sum(1)
''',
    "uneven_average_pool": '''\
def uneven_average_pool(x, kernel, stride, padding, counted):
    """An average pool whose padding differs by side; only the padding in `counted` counts in the mean."""
    ones = F.pad(torch.ones_like(x[:1, :1]), counted, value=1.0)
    ones = F.pad(ones, tuple(p - c for p, c in zip(padding, counted)))
    return F.avg_pool2d(F.pad(x, padding), kernel, stride) / F.avg_pool2d(ones, kernel, stride)
''',
}
