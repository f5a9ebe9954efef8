"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._keras.use import Printed, Rules, Use, call, native_axes


def _concat(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    position = 1 + axes.index(use.layer.axis)
    return [use.merge("Concatenate", axis=position if position < len(axes) else None)]


def _flatten(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    order = tuple(1 + axes.index(axis) for axis in use.spec.axes)
    permute = [call("layers.Permute", order, name=use.name + ".canonical") + "({0})"] if use.transposed else []
    return permute + [use.keras("Flatten")]


RULES: Rules = {
    layers.Add: lambda use: [use.merge("Add")],
    layers.Multiply: lambda use: [use.merge("Multiply")],
    layers.Concat: _concat,
    layers.Flatten: _flatten,
    layers.Stack: lambda use: ["ops.stack([{}], axis=1)".format(", ".join(
        "{{{}}}".format(i) for i in range(len(use.specs))))],
}
