"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._tinygrad.native import Native, Rules, method, module, plain
from photofinish.layers import Spec


def _joined(name: str, count: int, axis: int) -> Native:
    others = "".join(", {%d}" % i for i in range(1, count))
    return Native("{0}.%s(%sdim=%d)" % (name, (others[2:] + ", ") if others else "", axis))


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    return method("pad", (left, right, top, bottom))


def _slice(layer: layers.Slice, spec: Spec) -> Native:
    return Native("{0}[%s%d:%d]" % (":, " * (1 + spec.axes.index(layer.axis)), layer.start, layer.stop))


RULES: Rules = {
    layers.RowsToSequence: plain("{0}.permute(0, 2, 3, 1).flatten(2)"),
    layers.ImageToSequence: plain("{0}.flatten(2).transpose(1, 2)"),
    layers.Flatten: plain("{0}.flatten(1)"),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: _joined("cat", len(specs), 1 + specs[0].axes.index(layer.axis)),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Select: lambda layer, spec: Native("{0}[%s%d]" % (":, " * (1 + spec.axes.index(layer.axis)), layer.index)),
    layers.Stack: lambda layer, *specs: _joined("stack", len(specs), 1),
    layers.ChannelScale: lambda layer, spec: module(
        "ChannelScale", spec.size("C"), image=True if "H" in spec.axes else None),
}

LOWERED = {layers.ChannelScale: "a parameter and a product"}

HELPERS = {
    "ChannelScale": '''\
class ChannelScale:
    """A learned factor per channel (LayerScale), of an image or of what has its channels last."""

    def __init__(self, channels, image=False):
        self.weight = Tensor.ones(channels)
        self.image = image

    def __call__(self, x):
        return x * (self.weight.reshape(-1, 1, 1) if self.image else self.weight)
''',
}
