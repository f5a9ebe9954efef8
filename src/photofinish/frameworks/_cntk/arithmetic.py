"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._cntk.native import Native, Rules, part, plain
from photofinish.frameworks._common.scopes import slots
from photofinish.layers import Spec


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    """What is negative is cut off first."""
    text, cut = "{0}", [max(0, -each) for each in layer.padding]
    for axis, (before, after) in ((1, (cut[0], cut[2])), (2, (cut[1], cut[3]))):
        if before or after:
            text = "C.slice(%s, %d, %d, %d)" % (text, axis, before, spec.shape[axis] - after)
    top, left, bottom, right = (max(0, each) for each in layer.padding)
    if any(each > 0 for each in layer.padding) or text == "{0}":
        text = "C.pad(%s, %r)" % (text, [(0, 0), (top, bottom), (left, right)])
    return Native(text)


def _select(layer: layers.Select, spec: Spec) -> Native:
    (out,) = layer.outputs(spec)
    return Native("C.reshape(C.slice({0}, %d, %d, %d), %r)" % (
        spec.axes.index(layer.axis), layer.index, layer.index + 1, out.shape))


RULES: Rules = {
    layers.Flatten: lambda layer, spec: Native("C.reshape({0}, (%d,))" % layer.outputs(spec)[0].size("C")),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: Native("C.splice(%s, axis=%d)" % (
        slots(len(specs)), specs[0].axes.index(layer.axis))),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: lambda layer, spec: Native("C.slice({0}, %d, %d, %d)" % (
        spec.axes.index(layer.axis), layer.start, layer.stop)),
    layers.Select: _select,
    layers.Stack: lambda layer, *specs: Native("stacked(%s)" % slots(len(specs))),
    layers.ImageToSequence: lambda layer, spec: Native("C.transpose(C.reshape({0}, (%d, %d)), (1, 0))" % (
        spec.size("C"), spec.size("H") * spec.size("W"))),
    layers.RowsToSequence: lambda layer, spec: Native("C.reshape(C.transpose({0}, (1, 2, 0)), (%d, %d))" % (
        spec.size("H"), spec.size("W") * spec.size("C"))),
    layers.ChannelScale: lambda layer, spec: part("ChannelScale", spec.size("C"), image=True if "H" in spec.axes
                                                  else None),
}

LOWERED = {layers.ChannelScale: "a parameter and a product"}

HELPERS = {
    "stacked": '''\
def stacked(*vectors):
    """Vectors as the rows of a sequence."""
    return C.splice(*(C.reshape(each, (1,) + each.shape) for each in vectors), axis=0)
''',
    "row": '''\
def row(x, i):
    """One position of a sequence."""
    return C.reshape(C.slice(x, 0, i, i + 1), x.shape[1:])
''',
    "ChannelScale": '''\
class ChannelScale:
    """A learned factor per channel (LayerScale), of an image or of what has its channels last."""

    def __init__(self, channels, image=False):
        self.weight, self.shape = C.parameter((channels,), init=1.0), (channels, 1, 1) if image else (channels,)

    def __call__(self, x):
        return x * C.reshape(self.weight, self.shape)
''',
}
