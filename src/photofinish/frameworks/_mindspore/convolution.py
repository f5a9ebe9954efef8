"""Convolutions."""

from typing import Any, Dict, Tuple

from photofinish import layers
from photofinish.frameworks._mindspore.native import Native, Rules, cell, short, unless
from photofinish.layers import Spec


def edges(padding: Tuple[int, int, int, int]) -> Dict[str, Any]:
    """The options of (top, left, bottom, right), which MindSpore has as (top, bottom, left, right). Left alone, it pads
    until the result is as large as the image."""
    top, left, bottom, right = padding
    if not any(padding):
        return {"pad_mode": "valid"}
    return {"pad_mode": "pad", "padding": top if len(set(padding)) == 1 else (top, bottom, left, right)}


def _conv(layer: layers.Conv, spec: Spec) -> Native:
    return cell(
        "nn.Conv2d", spec.size("C"), layer.channels, short(layer.kernel), stride=unless(1, short(layer.stride)),
        **edges(layer.padding), dilation=unless(1, short(layer.dilation)), group=unless(1, layer.groups),
        has_bias=True if layer.bias else None)


def _conv_transpose(layer: layers.ConvTranspose, spec: Spec) -> Native:
    told = edges(layer.padding) if any(layer.padding) else {"pad_mode": "pad"}  # "valid" adds where strides leave gaps
    return cell(
        "nn.Conv2dTranspose", spec.size("C"), layer.channels, short(layer.kernel),
        stride=unless(1, short(layer.stride)), **told, has_bias=True if layer.bias else None)


def _sequence_conv(layer: layers.SequenceConv, spec: Spec) -> Native:
    before, after = layer.padding
    x = "ops.transpose({0}, (0, 2, 1))"
    padding: Dict[str, Any] = {"pad_mode": "pad", "padding": before} if before else {"pad_mode": "valid"}
    if before != after:
        x, padding = "ops.pad(%s, %r)" % (x, layer.padding), {"pad_mode": "valid"}
    made = cell("nn.Conv1d", spec.size("C"), layer.channels, layer.kernel, stride=unless(1, layer.stride),
                **padding, group=unless(1, layer.groups), has_bias=True if layer.bias else None)
    return made._replace(call="ops.transpose({self}(%s), (0, 2, 1))" % x)


RULES: Rules = {
    layers.Conv: _conv, layers.ConvTranspose: _conv_transpose, layers.SequenceConv: _sequence_conv,
}

LIMITS = {
    layers.SequenceConv: "transposed to channels first and back; padding that differs by side is put there by ops.pad",
}
