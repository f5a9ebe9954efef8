"""Convolutions."""

from typing import Any, Optional, Tuple

from photofinish import layers
from photofinish.frameworks._paddle.native import Native, Rules, module
from photofinish.layers import Spec


def edges(padding: Tuple[int, int, int, int]) -> Any:
    """(top, left, bottom, right) as Paddle has it, [top, bottom, left, right] unless both sides agree; None for
    none."""
    top, left, bottom, right = padding
    if (top, left) == (bottom, right):
        return (top, left) if any(padding) else None
    return [top, bottom, left, right]


def _bias(layer: Any) -> Optional[bool]:
    """The option bias_attr; Paddle has a bias unless it is told otherwise."""
    return None if layer.bias else False


def _unless(default: Any, value: Any) -> Any:
    return None if value == default else value


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    return module(
        "nn.Conv2D", spec.size("C"), layer.channels, layer.kernel, stride=_unless((1, 1), layer.stride),
        padding=edges(layer.padding), dilation=_unless((1, 1), layer.dilation), groups=_unless(1, layer.groups),
        bias_attr=_bias(layer))


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    return module(
        "nn.Conv2DTranspose", spec.size("C"), layer.channels, layer.kernel, stride=_unless((1, 1), layer.stride),
        padding=edges(layer.padding), bias_attr=_bias(layer))


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    before, after = layer.padding
    return module(
        "nn.Conv1D", spec.size("C"), layer.channels, layer.kernel, stride=_unless(1, layer.stride),
        padding=_unless(0, before if before == after else [before, after]), groups=_unless(1, layer.groups),
        bias_attr=_bias(layer), data_format="NLC")


RULES: Rules = {
    layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv,
}
