"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call, square
from photofinish.frameworks._mlx.use import Rules, Use, padded


def _conv(use: Use) -> Native:
    layer = use.layer
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    made = call("nn.Conv2d", use.spec.size("C"), layer.channels, square(layer.kernel), stride=square(layer.stride, 1),
                padding=square((top, left)) if even else None, dilation=square(layer.dilation, 1),
                groups=layer.groups if layer.groups > 1 else None, bias=None if layer.bias else False)
    return Native("{self}(%s)" % ("{0}" if even else padded("{0}", top, bottom, left, right)), made)


def _conv_transpose(use: Use) -> Native:
    layer = use.layer
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    made = call("nn.ConvTranspose2d", use.spec.size("C"), layer.channels, square(layer.kernel),
                stride=square(layer.stride, 1), padding=square((top, left)) if even else None,
                bias=None if layer.bias else False)
    height, width = use.out.size("H"), use.out.size("W")
    cut = "" if even else "[:, %d:%d, %d:%d]" % (top, top + height, left, left + width)
    return Native("{self}({0})" + cut, made)


def _sequence_conv(use: Use) -> Native:
    layer = use.layer
    before, after = layer.padding
    made = call("nn.Conv1d", use.spec.size("C"), layer.channels, layer.kernel,
                stride=layer.stride if layer.stride > 1 else None, padding=before or None if before == after else None,
                groups=layer.groups if layer.groups > 1 else None, bias=None if layer.bias else False)
    x = "{0}" if before == after else "mx.pad({0}, ((0, 0), (%d, %d), (0, 0)))" % (before, after)
    return Native("{self}(%s)" % x, made)


RULES: Rules = {
    layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv,
}

LIMITS = {
    layers.Conv: "padding that differs by side is put there first, by mx.pad",
    layers.ConvTranspose: "a border that differs by side is cut off afterwards",
    layers.SequenceConv: "padding that differs by side is put there first, by mx.pad",
}
