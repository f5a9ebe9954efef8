"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._common.text import square
from photofinish.frameworks._tinygrad.native import Native, Rules, module, swapped
from photofinish.layers import Spec


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    return module("nn.Conv2d", spec.size("C"), layer.channels, square(layer.kernel), stride=square(layer.stride, 1),
                  padding=square((top, left)) if even else (left, right, top, bottom),
                  dilation=square(layer.dilation, 1), groups=layer.groups if layer.groups > 1 else None,
                  bias=None if layer.bias else False)


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    less = (top - bottom, left - right)  # tinygrad crops alike on all sides, and by output_padding less at the ends
    native = all(0 <= each < stride for each, stride in zip(less, layer.stride))
    found = module("nn.ConvTranspose2d", spec.size("C"), layer.channels, square(layer.kernel),
                   stride=square(layer.stride, 1), padding=square((top, left)) if native else None,
                   output_padding=square(less) if native else None, bias=None if layer.bias else False)
    return found if native else found._replace(
        call="{self}({0}).pad(%r)" % ((-left, -right, -top, -bottom),))


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    before, after = layer.padding
    found = module("nn.Conv1d", spec.size("C"), layer.channels, layer.kernel,
                   stride=layer.stride if layer.stride > 1 else None,
                   padding=(before or None) if before == after else (before, after),
                   groups=layer.groups if layer.groups > 1 else None, bias=None if layer.bias else False)
    return found._replace(call=swapped(found.call))


RULES: Rules = {
    layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv,
}

LIMITS = {
    layers.ConvTranspose: "a border that differs by more than the stride is cut off afterwards, by Tensor.pad",
    layers.SequenceConv: "transposed to channels first and back",
}
