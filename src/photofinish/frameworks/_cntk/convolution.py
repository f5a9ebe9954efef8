"""Convolutions."""

from typing import Any

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._cntk.native import Native, Rules, part
from photofinish.layers import Spec


def _unless(default: Any, value: Any) -> Any:
    return None if value == default else value


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    if tuple(layer.dilation) != (1, 1):
        raise Unsupported("CNTK has no dilated convolution on a CPU")
    return part("Conv", (layer.channels, spec.size("C") // layer.groups) + layer.kernel,
                stride=_unless((1, 1), layer.stride), padding=_unless((0, 0, 0, 0), layer.padding),
                groups=_unless(1, layer.groups), bias=_unless(True, layer.bias))


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    return part("ConvTranspose", (spec.size("C"), layer.channels) + layer.kernel, stride=layer.stride,
                crop=layer.padding, bias=_unless(True, layer.bias))


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    return part("SequenceConv", (layer.channels, spec.size("C") // layer.groups, layer.kernel),
                stride=_unless(1, layer.stride), padding=_unless((0, 0), layer.padding),
                groups=_unless(1, layer.groups), bias=_unless(True, layer.bias))


RULES: Rules = {layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv}

LIMITS = {
    layers.Conv: "padded first, by C.pad: CNTK's own padding takes no amounts; none is dilated on a CPU",
    layers.ConvTranspose: "the border is cut off afterwards",
    layers.SequenceConv: "an image of one row, transposed to channels first and back",
}

HELPERS = {
    "Conv": '''\
class Conv:
    """Of images; padding is (top, left, bottom, right)."""

    def __init__(self, shape, stride=(1, 1), padding=(0, 0, 0, 0), groups=1, bias=True):
        self.weight = C.parameter(shape, init=C.he_normal())
        self.bias = C.parameter((shape[0],), init=0.0) if bias else None
        self.strides, self.groups = (1,) + stride, groups
        self.padding = [(0, 0), padding[0::2], padding[1::2]] if any(padding) else None

    def __call__(self, x):
        x = x if self.padding is None else C.pad(x, self.padding)
        y = C.convolution(self.weight, x, self.strides, auto_padding=[False] * 3, groups=self.groups)
        return y if self.bias is None else y + C.reshape(self.bias, (-1, 1, 1))
''',
    "ConvTranspose": '''\
class ConvTranspose:
    """Of images; `crop` is taken off the result: (top, left, bottom, right)."""

    def __init__(self, shape, stride, crop, bias=True):
        self.weight = C.parameter(shape, init=C.he_normal())
        self.bias = C.parameter((shape[1],), init=0.0) if bias else None
        self.strides, self.crop = (1,) + stride, crop

    def __call__(self, x):
        y = C.convolution_transpose(self.weight, x, self.strides, auto_padding=[False] * 3)
        top, left, bottom, right = self.crop
        y = C.slice(C.slice(y, 1, top, y.shape[1] - bottom), 2, left, y.shape[2] - right) if any(self.crop) else y
        return y if self.bias is None else y + C.reshape(self.bias, (-1, 1, 1))
''',
    "SequenceConv": '''\
class SequenceConv:
    """Of sequences, channels last; padding is (before, after)."""

    def __init__(self, shape, stride=1, padding=(0, 0), groups=1, bias=True):
        self.weight = C.parameter(shape, init=C.he_normal())
        self.bias = C.parameter((shape[0],), init=0.0) if bias else None
        self.stride, self.padding, self.groups = stride, padding, groups

    def __call__(self, x):
        x = C.pad(C.reshape(C.transpose(x, (1, 0)), (x.shape[1], 1, -1)), [(0, 0), (0, 0), self.padding])
        rows, share, size = self.weight.shape
        y = C.convolution(C.reshape(self.weight, (rows, share, 1, size)), x, (1, 1, self.stride),
                          auto_padding=[False] * 3, groups=self.groups)
        y = C.transpose(C.reshape(y, (rows, -1)), (1, 0))
        return y if self.bias is None else y + self.bias
''',
}
