"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, write
from photofinish.layers import Spec


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    module = write("nn.Conv2d", spec.size("C"), layer.channels, layer.kernel, stride=layer.stride,
                    padding=(top, left) if even else 0, dilation=layer.dilation, groups=layer.groups, bias=layer.bias)
    return Native("{self}({0})" if even else "{self}(F.pad({0}, %r))" % ((left, right, top, bottom),), module)


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    less = (top - bottom, left - right)  # PyTorch crops alike on all sides, and by output_padding less at the ends
    native = all(0 <= each < stride for each, stride in zip(less, layer.stride))
    module = write("nn.ConvTranspose2d", spec.size("C"), layer.channels, layer.kernel, stride=layer.stride,
                   padding=(top, left) if native else 0, output_padding=less if native else 0, bias=layer.bias)
    return Native("{self}({0})" if native else "F.pad({self}({0}), %r)" % ((-left, -right, -top, -bottom),), module)


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    before, after = layer.padding
    module = write("nn.Conv1d", spec.size("C"), layer.channels, layer.kernel, stride=layer.stride,
                   padding=before if before == after else 0, groups=layer.groups, bias=layer.bias)
    x = "torch.transpose({0}, 1, 2)"
    if before != after:
        x = "F.pad(%s, %r)" % (x, layer.padding)
    return Native("torch.transpose({self}(%s), 1, 2)" % x, module)


RULES: Rules = {
    layers.Conv: _conv, layers.ConvTranspose: _conv_transpose,
    layers.SequenceConv: _sequence_conv,
}

LIMITS = {
    layers.Conv: "padding that differs by side is put there first, by F.pad",
    layers.ConvTranspose: "a border that differs by more than the stride is cut off afterwards, by F.pad",
    layers.SequenceConv: "transposed to channels first and back; padding that differs by side is put there by F.pad",
}
