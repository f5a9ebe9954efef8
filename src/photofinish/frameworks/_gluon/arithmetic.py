"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._gluon.native import Native, Rules, cropped, padded, plain
from photofinish.layers import Spec


def _multiply(layer: layers.Multiply, left: Spec, right: Spec) -> Native:
    return Native("{0} * {1}" if left.shape == right.shape else "F.broadcast_mul({0}, {1})")


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    """What is negative is cut off first."""
    text = "{0}"
    if min(layer.padding) < 0:
        text = cropped(text, [max(0, -each) for each in layer.padding])
    if max(layer.padding) > 0:
        text = padded(text, [max(0, each) for each in layer.padding])
    return Native(text if any(layer.padding) else "F.identity({0})")


def _along(spec: Spec, axis: str, start: int, stop: int) -> str:
    return "F.slice_axis({0}, axis=%d, begin=%d, end=%d)" % (1 + spec.axes.index(axis), start, stop)


def _select(layer: layers.Select, spec: Spec) -> Native:
    one = _along(spec, layer.axis, layer.index, layer.index + 1)
    return Native("F.squeeze(%s, axis=%d)" % (one, 1 + spec.axes.index(layer.axis)))


def _channel_scale(layer: layers.ChannelScale, spec: Spec) -> Native:
    shape = tuple(size if axis == "C" else 1 for axis, size in zip(spec.axes, spec.shape))
    return Native("{self}({0})", "ChannelScale(%r)" % ((1,) + shape,))


RULES: Rules = {
    layers.Flatten: plain("F.flatten({0})"),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: _multiply,
    layers.Concat: lambda layer, *specs: Native("F.concat(%s, dim=%d)" % (
        slots(len(specs)), 1 + specs[0].axes.index(layer.axis))),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: lambda layer, spec: Native(_along(spec, layer.axis, layer.start, layer.stop)),
    layers.Select: _select,
    layers.Stack: lambda layer, *specs: Native("F.stack(%s, axis=1)" % slots(len(specs))),
    layers.ImageToSequence: plain("F.transpose(F.reshape({0}, shape=(0, 0, -1)), axes=(0, 2, 1))"),
    layers.RowsToSequence: plain("F.reshape(F.transpose({0}, axes=(0, 2, 3, 1)), shape=(0, 0, -1))"),
    layers.ChannelScale: _channel_scale,
}

LOWERED = {layers.ChannelScale: "a block with a parameter and a product"}

HELPERS = {
    "ChannelScale": '''\
class ChannelScale(gluon.HybridBlock):
    """A learned factor per channel (LayerScale); `shape` has 1 on every other axis."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.weight = self.params.get("weight", shape=(max(shape),), init="ones")

    def hybrid_forward(self, F, x, weight):
        return F.broadcast_mul(x, F.reshape(weight, shape=self.shape))
''',
}
