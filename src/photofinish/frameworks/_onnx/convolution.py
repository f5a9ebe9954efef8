"""Convolutions."""

from typing import Tuple

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use


def _operands(use: Use, x: str) -> Tuple[str, ...]:
    return (x, use.weight("weight")) + ((use.weight("bias"),) if use.layer.bias else ())


def _conv(use: Use, x: str) -> str:
    layer = use.layer
    return use("Conv", *_operands(use, x), kernel_shape=layer.kernel, strides=layer.stride, pads=layer.padding,
               dilations=layer.dilation, group=layer.groups)


def _conv_transpose(use: Use, x: str) -> str:
    layer = use.layer
    return use("ConvTranspose", *_operands(use, x), kernel_shape=layer.kernel, strides=layer.stride, pads=layer.padding)


def _sequence_conv(use: Use, x: str) -> str:
    layer = use.layer
    y = use("Conv", *_operands(use, use.permuted(x, "TC", "CT")), kernel_shape=(layer.kernel,),
            strides=(layer.stride,), pads=layer.padding, group=layer.groups)
    return use.permuted(y, "CT", "TC")


RULES: Rules = {layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv}

LIMITS = {layers.SequenceConv: "the sequence is transposed to channels first and back"}
