"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, plain
from photofinish.frameworks._common.scopes import slots
from photofinish.layers import Spec


def _multiply(layer: layers.Multiply, left: Spec, right: Spec) -> Native:
    return Native("{0} * {1}" if left.shape == right.shape else "stretched_product({0}, {1})")


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    """What is negative is cut off first."""
    top, left, bottom, right = layer.padding
    text = "{0}"
    if min(layer.padding) < 0:
        text += "[:, :, %s:%s, %s:%s]" % tuple(each or "" for each in (
            max(0, -top), min(0, bottom), max(0, -left), min(0, right)))
    if max(layer.padding) > 0 or not any(layer.padding):
        top, left, bottom, right = (max(0, each) for each in layer.padding)
        text = 'F.pad(%s, %r, "constant")' % (text, ((0, 0), (0, 0), (top, bottom), (left, right)))
    return Native(text)


def _slice(layer: layers.Slice, spec: Spec) -> Native:
    axis = spec.axes.index(layer.axis)
    stop = layer.stop if layer.stop < spec.shape[axis] else ""
    return Native("{0}[%s%s:%s]" % (":, " * (1 + axis), layer.start or "", stop))


def _channel_scale(layer: layers.ChannelScale, spec: Spec) -> Native:
    return Native("{self}({0})", "ChannelScale(%d)" % spec.size("C"))


RULES: Rules = {
    layers.Flatten: lambda layer, spec: Native("F.reshape({0}, (-1, %d))" % layer.outputs(spec)[0].size("C")),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: _multiply,
    layers.Concat: lambda layer, *specs: Native("F.concat((%s), axis=%d)" % (
        slots(len(specs)), 1 + specs[0].axes.index(layer.axis))),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Select: lambda layer, spec: Native("{0}[%s%d]" % (":, " * (1 + spec.axes.index(layer.axis)), layer.index)),
    layers.Stack: lambda layer, *specs: Native("F.stack((%s), axis=1)" % slots(len(specs))),
    layers.ImageToSequence: lambda layer, spec: Native(
        "F.transpose(F.reshape({0}, (-1, %d, %d)), (0, 2, 1))" % (spec.size("C"), spec.size("H") * spec.size("W"))),
    layers.RowsToSequence: lambda layer, spec: Native(
        "F.reshape(F.transpose({0}, (0, 2, 3, 1)), (-1, %d, %d))" % (
            spec.size("H"), spec.size("W") * spec.size("C"))),
    layers.ChannelScale: _channel_scale,
}

LOWERED = {layers.ChannelScale: "a link with a parameter and a product"}

HELPERS = {
    "stretched_product": '''\
def stretched_product(x, y):
    """A product in which an axis of length 1 is stretched to the other's."""
    shape = tuple(map(max, x.shape, y.shape))
    return F.broadcast_to(x, shape) * F.broadcast_to(y, shape)
''',
    "ChannelScale": '''\
class ChannelScale(chainer.Link):
    """A learned factor per channel (LayerScale), of an image or of what has its channels last."""

    def __init__(self, channels):
        super().__init__()
        with self.init_scope():
            self.weight = chainer.Parameter(1.0, (channels,))

    def forward(self, x):
        return F.scale(x, self.weight, axis=1 if x.ndim == 4 else x.ndim - 1)
''',
}
