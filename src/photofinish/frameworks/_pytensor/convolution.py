"""Convolutions."""

from typing import Any

from photofinish import layers
from photofinish.frameworks._pytensor.native import Native, Rules, part
from photofinish.layers import Spec


def _unless(default: Any, value: Any) -> Any:
    return None if value == default else value


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    return part("Conv", layer.channels, spec.size("C") // layer.groups, *layer.kernel,
                stride=_unless((1, 1), tuple(layer.stride)), padding=_unless((0, 0, 0, 0), tuple(layer.padding)),
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

LOWERED = {
    layers.Conv: "what each window reads, looked up, and a product: PyTensor has no convolution with channels",
    layers.ConvTranspose: "a product, added to the pixels of each window",
    layers.SequenceConv: "an image of one row, transposed to channels first and back",
}

HELPERS = {
    "Conv": '''\
class Conv:
    """Of images; padding is (top, left, bottom, right). The weight is (height, width, inputs of a group, channels)."""

    def __init__(self, channels, inputs, *kernel, stride=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), groups=1,
                 bias=True):
        self.weight = drawn(*kernel, inputs, channels, inputs=inputs * kernel[0] * kernel[1])
        self.bias = zeros(channels) if bias else None
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups

    def __call__(self, x):
        top, left, bottom, right = self.padding
        x = pad(x, top, bottom, left, right) if any(self.padding) else x
        y = convolve(x, self.weight, self.stride, self.dilation, self.groups)
        return y if self.bias is None else y + self.bias[:, None, None]
''',
    "SequenceConv": '''\
class SequenceConv:
    """Of sequences, channels last; padding is (before, after). The weight is (places, inputs of a group, channels)."""

    def __init__(self, channels, inputs, kernel, stride=1, padding=(0, 0), groups=1, bias=True):
        self.weight = drawn(kernel, inputs, channels, inputs=inputs * kernel)
        self.bias = zeros(channels) if bias else None
        self.stride, self.padding, self.groups = stride, padding, groups

    def __call__(self, x):
        x = x.transpose(0, 2, 1)[:, :, None]
        x = pad(x, 0, 0, *self.padding) if any(self.padding) else x
        y = convolve(x, self.weight[None], (1, self.stride), (1, 1), self.groups)[:, :, 0].transpose(0, 2, 1)
        return y if self.bias is None else y + self.bias
''',
    "convolve": '''\
def convolve(x, weight, stride, dilation, groups):
    """What each window reads times a weight (height, width, inputs of a group, channels)."""
    *kernel, inputs, channels = weight.type.shape
    taps = kernel[0] * kernel[1]
    if taps == 1:
        rows = x[:, :, ::stride[0], ::stride[1]].transpose(0, 2, 3, 1)
        _, down, across, _ = rows.type.shape
        rows = rows.reshape((samples(x) * down * across, 1, groups * inputs))
    else:
        rows, down, across = read_by_windows(x, kernel, stride, dilation)
    if inputs == 1 and groups == channels:  # depthwise: nothing to sum over but the places of the kernel
        y = pt.sum(rows * weight.reshape((taps, channels)), axis=1)
    elif groups == 1:
        y = pt.dot(rows.reshape((samples(rows), taps * inputs)), weight.reshape((taps * inputs, channels)))
    else:
        rows = rows.reshape((samples(rows), taps, groups, inputs)).transpose(2, 0, 1, 3)
        rows = rows.reshape((groups, samples(x) * down * across, taps * inputs))
        weight = weight.reshape((taps * inputs, groups, channels // groups)).transpose(1, 0, 2)
        y = pt.matmul(rows, weight).transpose(1, 0, 2)
    return y.reshape((samples(x), down, across, channels)).transpose(0, 3, 1, 2)
''',
    "read_by_windows": '''\
def read_by_windows(x, kernel, stride, dilation):
    """The pixels of each window of images, looked up in one table of all: (windows, places of the kernel, channels),
    and how many windows there are down and across."""
    _, channels, height, width = x.type.shape
    counts = [(size - reach * (taps - 1) - 1) // step + 1
              for size, taps, step, reach in zip((height, width), kernel, stride, dilation)]
    places = read_places(samples(x), (height, width), counts, kernel, stride, dilation)
    pixels = x.transpose(0, 2, 3, 1).reshape((samples(x) * height * width, channels))
    windows = samples(x) * counts[0] * counts[1]
    return pixels[places].reshape((windows, kernel[0] * kernel[1], channels)), *counts
''',
    "read_places": '''\
def read_places(count, size, counts, kernel, stride, dilation=(1, 1)):
    """Where the pixels that each window reads stand in a table of the pixels of all images. Those of one image are no
    constant, which Numba would compile."""
    rows, columns = (step * np.arange(windows)[:, None] + reach * np.arange(taps)
                     for windows, taps, step, reach in zip(counts, kernel, stride, dilation))
    places = variable((rows[:, None, :, None] * size[1] + columns[None, :, None, :]).flatten())
    first = pt.arange(count) * (size[0] * size[1])
    return (first[:, None] + places).reshape((count * places.type.shape[0],))
''',
    "ConvTranspose": '''\
class ConvTranspose:
    """Of images; `crop` is taken off the result: (top, left, bottom, right). The weight is (inputs, height, width,
    channels)."""

    def __init__(self, inputs, channels, *kernel, stride, crop, bias=True):
        self.weight = drawn(inputs, *kernel, channels, inputs=inputs)
        self.bias = zeros(channels) if bias else None
        self.kernel, self.stride, self.crop = kernel, stride, crop

    def __call__(self, x):
        _, inputs, *counts = x.type.shape
        size = [(count - 1) * step + taps for count, step, taps in zip(counts, self.stride, self.kernel)]
        channels, taps = self.weight.type.shape[3], self.kernel[0] * self.kernel[1]
        rows = x.transpose(0, 2, 3, 1).reshape((samples(x) * counts[0] * counts[1], inputs))
        given = pt.dot(rows, self.weight.reshape((inputs, taps * channels)))
        places = read_places(samples(x), size, counts, self.kernel, self.stride)
        y = pt.zeros((samples(x) * size[0] * size[1], channels), dtype="float32")
        y = y[places].inc(given.reshape((samples(rows) * taps, channels)))
        y = y.reshape((samples(x), *size, channels)).transpose(0, 3, 1, 2)
        top, left, bottom, right = self.crop
        y = y[:, :, top:size[0] - bottom, left:size[1] - right]
        return y if self.bias is None else y + self.bias[:, None, None]
''',
}
