"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, module, plain
from photofinish.layers import Spec


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    if max(layer.padding) > 0 or not any(layer.padding):
        return Native("F.pad({0}, %r)" % ((left, right, top, bottom),))
    return Native("{0}[:, :, %s:%s, %s:%s]" % (-top or "", bottom or "", -left or "", right or ""))  # a view


def _slice(layer: layers.Slice, spec: Spec) -> Native:
    axis = spec.axes.index(layer.axis)
    stop = layer.stop if layer.stop < spec.shape[axis] else ""
    return Native("{0}[%s%s:%s]" % (":, " * (1 + axis), layer.start or "", stop))


def _channel_scale(layer: layers.ChannelScale, spec: Spec) -> Native:
    return module("ChannelScale", spec.size("C"), **({"image": True} if "H" in spec.axes else {}))


RULES: Rules = {
    layers.RowsToSequence: plain("torch.flatten({0}.permute(0, 2, 3, 1), 2)"),
    layers.Flatten: plain("torch.flatten({0}, 1)"),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: Native("torch.cat((%s), %d)" % (
        ", ".join("{%d}" % i for i in range(len(specs))), 1 + specs[0].axes.index(layer.axis))),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Stack: lambda layer, *specs: Native("torch.stack((%s), 1)" % ", ".join(
        "{%d}" % i for i in range(len(specs)))),
    layers.Select: lambda layer, spec: Native("torch.select({0}, %d, %d)" % (
        1 + spec.axes.index(layer.axis), layer.index)),
    layers.ImageToSequence: plain("torch.transpose(torch.flatten({0}, 2), 1, 2)"),
    layers.ChannelScale: _channel_scale,
}

LOWERED = {layers.ChannelScale: "a module with a parameter and a product"}

HELPERS = {
    "ChannelScale": '''\
class ChannelScale(nn.Module):
    """A learned factor per channel (LayerScale), of an image or of what has its channels last."""

    def __init__(self, channels, image=False):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.image = image

    def forward(self, x):
        return x * (self.weight[:, None, None] if self.image else self.weight)
''',
}
