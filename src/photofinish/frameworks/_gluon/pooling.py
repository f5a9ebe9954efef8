"""Pools and means."""

from typing import Any, Optional

from photofinish import layers
from photofinish.frameworks._common.windows import amounts, shares
from photofinish.frameworks._gluon.native import Native, Rules, call, padded, plain, square
from photofinish.layers import Spec

LOWEST = -3e38  # stands for minus infinity around an image


def _ceil_mode(layer: Any, spec: Spec) -> Optional[bool]:
    """The ceil_mode by which MXNet's pools see the same windows, None if neither does: their padding is the same on
    both sides and less than a window, and rounding up they drop no window."""
    (top, left, bottom, right), (out,) = layer.padding, layer.outputs(spec)
    if (top, left) != (bottom, right) or top >= layer.kernel[0] or left >= layer.kernel[1]:
        return None
    spans = [spec.size(axis) + 2 * layer.padding[i] - layer.kernel[i] for i, axis in enumerate("HW")]
    for ceil in (False, True):
        steps = [-(-span // stride) if ceil else span // stride for span, stride in zip(spans, layer.stride)]
        if [each + 1 for each in steps] == [out.size("H"), out.size("W")]:
            return ceil
    return None


def _block(kind: str, layer: Any, ceil: bool = False, padding: bool = False, **options: Any) -> str:
    around = square(layer.padding[:2]) if padding else None
    return call(kind, square(layer.kernel), square(layer.stride), padding=around, ceil_mode=ceil or None, **options)


def _max_pool(layer: layers.MaxPool, spec: Spec) -> Native:
    ceil = _ceil_mode(layer, spec)
    if ceil is not None:
        return Native("{self}({0})", _block("nn.MaxPool2D", layer, ceil, padding=True))
    (top, bottom), (left, right) = amounts(layer, spec, layer.outputs(spec)[0])
    return Native("{self}(%s)" % padded("{0}", (top, left, bottom, right), LOWEST), _block("nn.MaxPool2D", layer))


def _average_pool(layer: layers.AveragePool, spec: Spec) -> Native:
    ceil = _ceil_mode(layer, spec)
    counted = None if layer.count_padding or not any(layer.padding) else False
    if ceil is not None:
        return Native("{self}({0})", _block("nn.AvgPool2D", layer, ceil, True, count_include_pad=counted))
    (top, bottom), (left, right) = amounts(layer, spec, layer.outputs(spec)[0])
    down, across = shares(layer, spec, layer.outputs(spec)[0])
    return Native("{self}(%s)" % padded("{0}", (top, left, bottom, right)),
                  call("UnevenAveragePool", square(layer.kernel), square(layer.stride), down, across))


def _global_average_pool(layer: layers.GlobalAveragePool, spec: Spec) -> Native:
    if spec.axes == "TC" and not layer.keep_axes:
        return Native("F.mean({0}, axis=1)")
    pool = {"CHW": "nn.GlobalAvgPool2D()"}[spec.axes]
    return Native("{self}({0})" if layer.keep_axes else "F.flatten({self}({0}))", pool)


RULES: Rules = {
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: lambda layer, spec: Native(
        "F.contrib.AdaptiveAvgPooling2D({0}, output_size=%r)" % (tuple(layer.size),)),
    layers.GlobalAveragePool: _global_average_pool,
    layers.MaskedMean: plain("masked_mean(F, {0}, {1})"),
}

LOWERED = {layers.MaskedMean: "a product with the mask and two sums"}
LIMITS = {
    layers.MaxPool: "padding that differs by side is put there first, by F.pad",
    layers.AveragePool: "padding that differs by side is put there first, by F.pad, and divided out by a constant",
}

HELPERS = {
    "UnevenAveragePool": '''\
class UnevenAveragePool(gluon.HybridBlock):
    """An average pool of an image that has its padding: `down` and `across` are the size of a whole window over the
    positions that count in each window."""

    def __init__(self, pool_size, strides, down, across):
        super().__init__()
        self.pool = nn.AvgPool2D(pool_size, strides)
        self.shares = self.params.get_constant("shares", np.outer(down, across)[None, None])

    def hybrid_forward(self, F, x, shares):
        return F.broadcast_mul(self.pool(x), shares)
''',
    "masked_mean": '''\
def masked_mean(F, x, mask):
    """The mean over time of the steps whose mask is 1 and not 0."""
    total = F.sum(F.broadcast_mul(x, F.expand_dims(mask, axis=2)), axis=1)
    return F.broadcast_div(total, F.sum(mask, axis=1, keepdims=True))
''',
}
