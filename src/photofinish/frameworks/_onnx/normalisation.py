"""Normalisations."""

import numpy as np

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use


def _scale(use: Use) -> str:
    return use.weight("weight") if use.layer.scale else use.constant(np.ones(use.specs[0].size("C")))


def _batch_norm(use: Use, x: str) -> str:
    axes = use.specs[0].axes
    first = "C" + axes.replace("C", "")
    bias = use.weight("bias") if use.layer.center else use.constant(np.zeros(use.specs[0].size("C")))
    y = use("BatchNormalization", use.permuted(x, axes, first), _scale(use), bias, use.weight("running_mean"),
            use.weight("running_variance"), epsilon=float(use.layer.epsilon))
    return use.permuted(y, first, axes)


def _layer_norm(use: Use, x: str) -> str:
    axes = use.specs[0].axes
    last = axes.replace("C", "") + "C"
    bias = (use.weight("bias"),) if use.layer.center else ()
    y = use("LayerNormalization", use.permuted(x, axes, last), _scale(use), *bias, axis=-1,
            epsilon=float(use.layer.epsilon))
    return use.permuted(y, last, axes)


def _local_response_norm(use: Use, x: str) -> str:
    layer = use.layer
    if layer.size % 2:
        return use("LRN", x, size=layer.size, alpha=float(layer.alpha), beta=float(layer.beta), bias=float(layer.bias))
    rows = use("Reshape", use("Mul", x, x), use.integers(0, 1, use.specs[0].size("C"), -1))
    means = use("AveragePool", rows, kernel_shape=(layer.size, 1), pads=((layer.size - 1) // 2, 0, layer.size // 2, 0),
                count_include_pad=1)
    means = use("Reshape", means, use.integers(use.program.batch, *use.specs[0].shape))
    divisor = use("Add", use("Mul", means, use.constant(layer.alpha)), use.constant(layer.bias))
    return use("Div", x, use("Pow", divisor, use.constant(layer.beta)))


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: _local_response_norm,
}

LIMITS = {
    layers.BatchNorm: "a sequence is transposed to channels first and back",
    layers.LayerNorm: "an image is transposed to channels last and back",
    layers.LocalResponseNorm: "a window of an even size is an AveragePool of squares over the channels: ONNX Runtime "
                              "takes odd ones; a bias is a factor in OpenVINO, which takes it for 1",
}
