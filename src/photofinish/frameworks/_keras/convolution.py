"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._common.text import call, square
from photofinish.frameworks._keras.depthwise import is_depthwise
from photofinish.frameworks._keras.use import Printed, Rules, Use
from photofinish.frameworks._keras.windows import padding, zero_padding


def _conv(use: Use) -> Printed:
    layer = use.layer
    depthwise = is_depthwise(layer, use.spec)
    if depthwise:  # one stride for both axes, say TensorFlow's kernels but oneDNN's
        refused = len(set(layer.stride)) > 1 and use.backend in ("", "tensorflow")
    else:  # Keras will not do both
        refused = max(layer.stride) > 1 and max(layer.dilation) > 1
    same, amounts = padding(use, layer.dilation)
    same = None if refused else same
    options = {"strides": None if refused else square(layer.stride, 1), "padding": same,
               "dilation_rate": square(layer.dilation, 1), "use_bias": None if layer.bias else False}
    kernel = square(layer.kernel)
    if depthwise:
        multiplier = layer.channels // layer.groups
        body = use.keras("DepthwiseConv2D", kernel, depth_multiplier=multiplier if multiplier > 1 else None, **options)
    else:  # grouped convolutions Keras compiles with XLA on the CPU, in every mode
        body = use.keras("Conv2D", layer.channels, kernel, groups=layer.groups if layer.groups > 1 else None, **options)
    thinned = ["{{0}}[:, ::{}, ::{}]".format(*layer.stride)] if refused else []
    return ([] if same else zero_padding(use, amounts)) + [body] + thinned


def _conv_transpose(use: Use) -> Printed:
    layer = use.layer
    crops = [(layer.padding[axis], layer.padding[2 + axis]) for axis in (0, 1)]
    over = [kernel - stride for kernel, stride in zip(layer.kernel, layer.stride)]  # beyond an image of size * stride
    same = all(more >= 0 and crop == (more // 2, more - more // 2) for crop, more in zip(crops, over))
    body = use.keras("Conv2DTranspose", layer.channels, square(layer.kernel), strides=square(layer.stride, 1),
                     padding="same" if same and any(over) else None, use_bias=None if layer.bias else False)
    ends = tuple((first, last + max(0, -more)) for (first, last), more in zip(crops, over))  # Keras fills the stride
    if same or not any(map(any, ends)):
        return [body]
    return [body, call("layers.Cropping2D", ends, name=use.name + ".cropping") + "({0})"]


def _sequence_conv(use: Use) -> Printed:
    layer, length, count = use.layer, use.spec.size("T"), use.out.size("T")
    before = layer.padding[0]
    span = (count - 1) * layer.stride + layer.kernel
    after, total = max(0, span - before - length), max(0, span - length)  # what the windows read, not what there is
    same = before + after > 0 and count == -(-length // layer.stride) and (before, after) == (
        total // 2, total - total // 2)
    options = {"strides": layer.stride if layer.stride > 1 else None, "padding": "same" if same else None,
               "use_bias": None if layer.bias else False}
    if is_depthwise(layer, use.spec):
        multiplier = layer.channels // layer.groups
        body = use.keras("DepthwiseConv1D", layer.kernel, depth_multiplier=multiplier if multiplier > 1 else None,
                         **options)
    else:
        body = use.keras("Conv1D", layer.channels, layer.kernel, groups=layer.groups if layer.groups > 1 else None,
                         **options)
    padded = [] if same or not before + after else [
        call("layers.ZeroPadding1D", (before, after), name=use.name + ".padding") + "({0})"]
    return padded + [body]


RULES: Rules = {
    layers.Conv: _conv, layers.ConvTranspose: _conv_transpose,
    layers.SequenceConv: _sequence_conv,
}

LIMITS = {
    layers.Conv: "padding other than Keras' own is put there by ZeroPadding2D; with both strides and dilation, and "
                 "where a depthwise convolution on TensorFlow has two strides, every position is computed and some are "
                 "kept",
    layers.ConvTranspose: "a border other than Keras' own is cut off afterwards, by Cropping2D",
    layers.SequenceConv: "padding other than Keras' own is put there by ZeroPadding1D",
}
