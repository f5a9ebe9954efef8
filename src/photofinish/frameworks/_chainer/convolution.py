"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, call, square
from photofinish.layers import Spec


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    even = (top, left) == (bottom, right)
    link = call("L.Convolution2D", spec.size("C"), layer.channels, square(layer.kernel),
                stride=square(layer.stride, 1), pad=square((top, left)) if even else None,
                nobias=None if layer.bias else True, dilate=square(layer.dilation, 1),
                groups=layer.groups if layer.groups > 1 else None)
    x = "{0}" if even else 'F.pad({0}, %r, "constant")' % (((0, 0), (0, 0), (top, bottom), (left, right)),)
    return Native("{self}(%s)" % x, link)


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    top, left, bottom, right = layer.padding
    (out,) = layer.outputs(spec)
    less = (top - bottom, left - right)  # Chainer crops alike on all sides, and by outsize less at the ends
    native = all(0 <= each < stride for each, stride in zip(less, layer.stride))
    link = call("L.Deconvolution2D", spec.size("C"), layer.channels, square(layer.kernel),
                stride=square(layer.stride, 1), pad=square((top, left)) if native else None,
                nobias=None if layer.bias else True, outsize=out.shape[1:] if native and any(less) else None)
    border = "" if native else "[:, :, %s:%s, %s:%s]" % tuple(each or "" for each in (top, -bottom, left, -right))
    return Native("{self}({0})" + border, link)


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    before, after = layer.padding
    link = call("L.Convolution1D", spec.size("C"), layer.channels, layer.kernel,
                stride=layer.stride if layer.stride > 1 else None,
                pad=before if before == after != 0 else None, nobias=None if layer.bias else True,
                groups=layer.groups if layer.groups > 1 else None)
    x = "{0}" if before == after else 'F.pad({0}, %r, "constant")' % (((0, 0), layer.padding, (0, 0)),)
    return Native("F.swapaxes({self}(F.swapaxes(%s, 1, 2)), 1, 2)" % x, link)


RULES: Rules = {layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv}

LIMITS = {
    layers.Conv: "padding that differs by side is put there first, by F.pad",
    layers.ConvTranspose: "a border that differs by more than the stride is cut off afterwards; of the model's input "
                          "the gradient is computed, too, or Chainer 7.8.1 fails",
    layers.SequenceConv: "transposed to channels first and back; padding that differs by side is put there by F.pad",
}
