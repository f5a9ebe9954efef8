"""Convolutions."""

from typing import Any, Sequence, Tuple, Union

from photofinish import layers
from photofinish.frameworks._theano.native import Native, Rules, part
from photofinish.layers import Spec

Side = Union[int, Tuple[int, int]]


def _unless(default: Any, value: Any) -> Any:
    return None if value == default else value


def _border(padding: Sequence[int]) -> Union[int, Tuple[Side, Side]]:
    """(top, left, bottom, right) as short as T.nnet.conv2d takes it."""
    down, across = (side[0] if side[0] == side[1] else (side[0], side[1])
                    for side in zip(padding[:2], padding[2:]))
    return down if isinstance(down, int) and down == across else (down, across)


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    return part("Conv", layer.channels, spec.size("C") // layer.groups, *layer.kernel,
                stride=_unless((1, 1), tuple(layer.stride)), padding=_unless(0, _border(layer.padding)),
                dilation=_unless((1, 1), tuple(layer.dilation)), groups=_unless(1, layer.groups),
                bias=_unless(True, layer.bias))


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    return part("ConvTranspose", spec.size("C"), layer.channels, *layer.kernel, stride=tuple(layer.stride),
                crop=tuple(layer.padding), bias=_unless(True, layer.bias))


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    return part("SequenceConv", layer.channels, spec.size("C") // layer.groups, layer.kernel,
                stride=_unless(1, layer.stride), padding=_unless((0, 0), tuple(layer.padding)),
                groups=_unless(1, layer.groups), bias=_unless(True, layer.bias))


RULES: Rules = {layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv}

LIMITS = {layers.SequenceConv: "an image of one row, transposed to channels first and back"}

HELPERS = {
    "Conv": '''\
class Conv:
    """Of images; padding as T.nnet.conv2d has its border_mode."""

    def __init__(self, channels, inputs, *kernel, stride=(1, 1), padding=0, dilation=(1, 1), groups=1, bias=True):
        self.weight, self.bias = drawn(channels, inputs, *kernel), zeros(channels) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def __call__(self, x):
        y = T.nnet.conv2d(x, self.weight, border_mode=self.padding, subsample=self.stride, filter_flip=False,
                          filter_dilation=self.dilation, num_groups=self.groups)
        return y if self.bias is None else y + self.bias[:, None, None]
''',
    "ConvTranspose": '''\
class ConvTranspose:
    """Of images; `crop` is taken off the result: (top, left, bottom, right)."""

    def __init__(self, inputs, channels, *kernel, stride, crop, bias=True):
        self.weight, self.bias = drawn(inputs, channels, *kernel), zeros(channels) if bias else None
        self.kernel, self.stride, self.crop = kernel, stride, tuple(zip(crop[:2], crop[2:]))

    def __call__(self, x):
        down, across = ((size - 1) * step + taps - sum(cut) for size, step, taps, cut in zip(
            (x.shape[2], x.shape[3]), self.stride, self.kernel, self.crop))
        y = T.nnet.conv2d_transpose(x, self.weight, (None, None, down, across), border_mode=self.crop,
                                    input_dilation=self.stride, filter_flip=False)
        return y if self.bias is None else y + self.bias[:, None, None]
''',
    "SequenceConv": '''\
class SequenceConv:
    """Of sequences, channels last; padding is (before, after)."""

    def __init__(self, channels, inputs, kernel, stride=1, padding=(0, 0), groups=1, bias=True):
        self.weight, self.bias = drawn(channels, inputs, kernel), zeros(channels) if bias else None
        self.stride, self.padding, self.groups = stride, padding, groups

    def __call__(self, x):
        y = T.nnet.conv2d(x.dimshuffle(0, 2, "x", 1), self.weight.dimshuffle(0, 1, "x", 2), filter_flip=False,
                          border_mode=(0, self.padding), subsample=(1, self.stride), num_groups=self.groups)
        y = y[:, :, 0].dimshuffle(0, 2, 1)
        return y if self.bias is None else y + self.bias
''',
}
