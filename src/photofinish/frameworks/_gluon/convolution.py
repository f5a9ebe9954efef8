"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._gluon.native import Native, Rules, call, cropped, padded, square
from photofinish.layers import Spec


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    module = call("nn.Conv2D", layer.channels, square(layer.kernel), strides=square(layer.stride, 1),
                  padding=square((top, left)) if even else None, dilation=square(layer.dilation, 1),
                  groups=layer.groups if layer.groups > 1 else None, use_bias=None if layer.bias else False,
                  in_channels=spec.size("C"))
    return Native("{self}(%s)" % ("{0}" if even else padded("{0}", layer.padding)), module)


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    less = (top - bottom, left - right)  # MXNet crops alike on all sides, and by output_padding less at the ends
    native = all(0 <= each < stride for each, stride in zip(less, layer.stride))
    module = call("nn.Conv2DTranspose", layer.channels, square(layer.kernel), strides=square(layer.stride, 1),
                  padding=square((top, left)) if native else None, output_padding=square(less) if native else None,
                  use_bias=None if layer.bias else False, in_channels=spec.size("C"))
    return Native("{self}({0})" if native else cropped("{self}({0})", layer.padding), module)


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    before, after = layer.padding
    module = call("nn.Conv1D", layer.channels, layer.kernel, strides=layer.stride if layer.stride > 1 else None,
                  padding=before if before == after != 0 else None, groups=layer.groups if layer.groups > 1 else None,
                  use_bias=None if layer.bias else False, in_channels=spec.size("C"))
    x = "{0}" if before == after else "padded_in_time(F, {0}, %d, %d)" % (before, after)
    return Native("F.swapaxes({self}(F.swapaxes(%s, 1, 2)), 1, 2)" % x, module)


RULES: Rules = {layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv}

LIMITS = {
    layers.Conv: "padding that differs by side is put there first, by F.pad",
    layers.ConvTranspose: "a border that differs by more than the stride is cut off afterwards, by F.slice",
    layers.SequenceConv: "transposed to channels first and back; padding that differs by side is put there by F.pad",
}

HELPERS = {
    "padded_in_time": '''\
def padded_in_time(F, x, before, after):
    """Zeros before and after a sequence, which F.pad takes for an image."""
    x = F.pad(F.expand_dims(x, axis=1), mode="constant", pad_width=(0, 0, 0, 0, before, after, 0, 0))
    return F.squeeze(x, axis=1)
''',
}
