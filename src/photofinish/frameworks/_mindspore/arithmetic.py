"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._mindspore.native import Native, Rules, cell, plain
from photofinish.layers import Spec


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    """Cropped by a slice, then padded."""
    top, left, bottom, right = layer.padding
    cropped = "{0}"
    if min(layer.padding) < 0:
        cropped += "[:, :, %s:%s, %s:%s]" % tuple(each or "" for each in (
            max(-top, 0), min(bottom, 0), max(-left, 0), min(right, 0)))
    if max(layer.padding) <= 0:
        return Native(cropped)
    return Native("ops.pad(%s, %r)" % (cropped, tuple(max(each, 0) for each in (left, right, top, bottom))))


def _slice(layer: layers.Slice, spec: Spec) -> Native:
    axis = spec.axes.index(layer.axis)
    stop = layer.stop if layer.stop < spec.shape[axis] else ""
    return Native("{0}[%s%s:%s]" % (":, " * (1 + axis), layer.start or "", stop))


def _channel_scale(layer: layers.ChannelScale, spec: Spec) -> Native:
    return cell("ChannelScale", spec.size("C"), image=True if "H" in spec.axes else None)


RULES: Rules = {
    layers.Flatten: plain("ops.flatten({0})"),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: Native(
        "ops.cat((%s), %d)" % (slots(len(specs)), 1 + specs[0].axes.index(layer.axis))),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Select: lambda layer, spec: Native(
        "{0}[%s%d]" % (":, " * (1 + spec.axes.index(layer.axis)), layer.index)),
    layers.Stack: lambda layer, *specs: Native("ops.stack((%s), 1)" % slots(len(specs))),
    layers.ImageToSequence: lambda layer, spec: Native(
        "ops.transpose(ops.reshape({0}, (-1, %d, %d)), (0, 2, 1))" % (
            spec.size("C"), spec.size("H") * spec.size("W"))),
    layers.RowsToSequence: lambda layer, spec: Native(
        "ops.reshape(ops.transpose({0}, (0, 2, 3, 1)), (-1, %d, %d))" % layer.outputs(spec)[0].shape),
    layers.ChannelScale: _channel_scale,
}

LOWERED = {layers.ChannelScale: "a cell with a parameter and a product"}

HELPERS = {
    "ChannelScale": '''\
class ChannelScale(nn.Cell):
    """A learned factor per channel (LayerScale), of an image or of what has its channels last."""

    def __init__(self, channels, image=False):
        super().__init__()
        self.weight = Parameter(initializer("ones", [channels]), "weight")
        self.shape = (channels, 1, 1) if image else (channels,)

    def construct(self, x):
        return x * ops.reshape(self.weight, self.shape)
''',
}
