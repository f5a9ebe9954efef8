"""Sums, products, and layers that only move values."""

from functools import reduce
from operator import mul

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._pytensor.native import Native, Rules, part, plain
from photofinish.layers import Spec


def _pad(layer: layers.Pad, spec: Spec) -> Native:
    """What is negative is cut off first."""
    top, left, bottom, right = layer.padding
    cut = [max(0, -each) for each in layer.padding]
    text = "{0}" if not any(cut) else "{0}[:, :, %d:%d, %d:%d]" % (
        cut[0], spec.size("H") - cut[2], cut[1], spec.size("W") - cut[3])
    ahead = [max(0, each) for each in (top, bottom, left, right)]
    edges = ", ".join(map(str, ahead))
    return Native("pad(" + text + ", " + edges + ")" if any(ahead) else text)


def _along(spec: Spec, axis: str) -> str:
    """The places in front of an axis."""
    return ":, " * (1 + spec.axes.index(axis))


RULES: Rules = {
    layers.Flatten: lambda layer, spec: Native("reshaped({0}, %d)" % reduce(mul, spec.shape)),
    layers.Add: plain("{0} + {1}"),
    layers.Multiply: plain("{0} * {1}"),
    layers.Concat: lambda layer, *specs: Native("pt.concatenate([%s], axis=%d)" % (
        slots(len(specs)), 1 + specs[0].axes.index(layer.axis))),
    layers.Scale: lambda layer, spec: Native("%r * {0}" % layer.factor),
    layers.Pad: _pad,
    layers.Slice: lambda layer, spec: Native("{0}[%s%d:%d]" % (_along(spec, layer.axis), layer.start, layer.stop)),
    layers.Select: lambda layer, spec: Native("{0}[%s%d]" % (_along(spec, layer.axis), layer.index)),
    layers.Stack: lambda layer, *specs: Native("pt.stack([%s], axis=1)" % slots(len(specs))),
    layers.ImageToSequence: lambda layer, spec: Native("reshaped({0}, %d, %d).transpose(0, 2, 1)" % (
        spec.size("C"), spec.size("H") * spec.size("W"))),
    layers.RowsToSequence: lambda layer, spec: Native("reshaped({0}.transpose(0, 2, 3, 1), %d, %d)" % (
        spec.size("H"), spec.size("W") * spec.size("C"))),
    layers.ChannelScale: lambda layer, spec: part("ChannelScale", spec.size("C"), image=True if "H" in spec.axes
                                                  else None),
}

LOWERED = {
    layers.Pad: "written into zeros: pt.pad moves more",
    layers.ChannelScale: "a parameter and a product",
}

HELPERS = {
    "pad": '''\
def pad(x, top, bottom, left, right, value=0.0):
    """Of images."""
    _, channels, height, width = x.type.shape
    whole = pt.full((samples(x), channels, height + top + bottom, width + left + right), np.float32(value))
    return whole[:, :, top:top + height, left:left + width].set(x)
''',
    "ChannelScale": '''\
class ChannelScale:
    """A learned factor per channel (LayerScale), of an image or of what has its channels last."""

    def __init__(self, channels, image=False):
        self.weight, self.image = ones(channels), image

    def __call__(self, x):
        return x * (self.weight[:, None, None] if self.image else self.weight)
''',
    "reshaped": '''\
def reshaped(x, *shape):
    """Each sample in another shape."""
    return x.reshape((samples(x), *shape))
''',
    "samples": '''\
def samples(x):
    """How many: a number where the inputs of a graph say so, which makes it a smaller one."""
    return x.shape[0] if x.type.shape[0] is None else x.type.shape[0]
''',
    "drawn": '''\
def drawn(*shape, inputs=1):
    """A weight drawn anew, as wide as keeps what passes through where so many are summed."""
    return variable(np.random.normal(0, inputs ** -0.5, shape).astype(np.float32))
''',
    "ones": '''\
def ones(*shape):
    return variable(np.ones(shape, np.float32))
''',
    "zeros": '''\
def zeros(*shape):
    return variable(np.zeros(shape, np.float32))
''',
    "variable": '''\
def variable(values):
    """Whose shape is known while the graph is made."""
    return pytensor.shared(values, shape=values.shape)
''',
}
