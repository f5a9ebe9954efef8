"""Sums, products, and layers that only move values."""

import numpy as np

from photofinish import layers
from photofinish.frameworks._common.channels_last import native_axes
from photofinish.frameworks._common.text import call
from photofinish.frameworks._keras.use import Printed, Rules, Use


def _concat(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    position = 1 + axes.index(use.layer.axis)
    return [use.merge("Concatenate", axis=position if position < len(axes) else None)]


def _flatten(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    order = tuple(1 + axes.index(axis) for axis in use.spec.axes)
    permute = [call("layers.Permute", order, name=use.name + ".canonical") + "({0})"] if use.transposed else []
    return permute + [use.keras("Flatten")]


def _pad(use: Use) -> Printed:
    top, left, bottom, right = use.layer.padding
    sides = ((top, bottom), (left, right))
    cropped, padded = (tuple(tuple(max(0, sign * amount) for amount in pair) for pair in sides) for sign in (-1, 1))
    printed = [] if not np.any(cropped) else [
        call("layers.Cropping2D", cropped, name=use.name + ".cropping") + "({0})"]
    return printed if printed and not np.any(padded) else printed + [use.keras("ZeroPadding2D", padded)]


def _slice(use: Use) -> Printed:
    axes, layer = native_axes(use.spec.axes), use.layer
    stop = layer.stop if layer.stop < use.spec.size(layer.axis) else ""
    before = "..., " if axes[-1] == layer.axis else ":, " * (1 + axes.index(layer.axis))
    return ["{{0}}[{}{}:{}]".format(before, layer.start or "", stop)]


def _select(use: Use) -> Printed:
    position = native_axes(use.spec.axes).index(use.layer.axis)
    return ["{{0}}[{}{}]".format(":, " * (1 + position), use.layer.index)]


RULES: Rules = {
    layers.RowsToSequence: lambda use: [use.keras("Reshape", use.out.shape)],
    layers.Add: lambda use: [use.merge("Add")],
    layers.Multiply: lambda use: [use.merge("Multiply")],
    layers.Concat: _concat,
    layers.Flatten: _flatten,
    layers.Scale: lambda use: ["{!r} * {{0}}".format(use.layer.factor)],
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Stack: lambda use: ["ops.stack([{}], axis=1)".format(", ".join(
        "{{{}}}".format(i) for i in range(len(use.specs))))],
    layers.Select: _select,
    layers.ImageToSequence: lambda use: [use.keras("Reshape", use.out.shape)],
    layers.ChannelScale: lambda use: [call("ChannelScale", use.spec.size("C"), name=use.name) + "({0})"],
}

LOWERED = {layers.ChannelScale: "a layer with a weight and a product"}

HELPERS = {
    "ChannelScale": '''
class ChannelScale(layers.Layer):
    """A learned factor per channel (LayerScale)."""

    def __init__(self, channels, **options):
        super().__init__(**options)
        self.weight = self.add_weight(shape=(channels,), initializer="ones", name="weight")

    def call(self, x):
        return x * self.weight
''',
}
