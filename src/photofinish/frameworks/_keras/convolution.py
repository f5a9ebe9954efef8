"""Convolutions."""

from photofinish import layers
from photofinish.frameworks._keras.use import Printed, Rules, Use, square
from photofinish.frameworks._keras.windows import padding, zero_padding
from photofinish.layers import Spec


def is_depthwise(layer: layers.Conv, spec: Spec) -> bool:
    return layer.groups == spec.size("C") > 1


def _conv(use: Use) -> Printed:
    layer = use.layer
    depthwise = is_depthwise(layer, use.spec)
    refused = max(layer.stride) > 1 and max(layer.dilation) > 1 and not depthwise  # Keras will not do both
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


RULES: Rules = {layers.Conv: _conv}
