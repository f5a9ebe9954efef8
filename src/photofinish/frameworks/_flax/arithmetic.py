"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._flax.use import Functions, Rules, Use, always


def _concat(use: Use) -> Native:
    axis = 1 + use.axes.index(use.layer.axis)
    last = axis == len(use.axes)
    return Native("jnp.concatenate((%s), axis=%d)" % (slots(len(use.specs)), -1 if last else axis))


def _flatten(use: Use) -> Native:
    x = "{0}"
    if use.transposed:
        x = "jnp.transpose({0}, %r)" % ((0,) + tuple(1 + use.axes.index(axis) for axis in use.spec.axes),)
    return Native("jnp.reshape(%s, (-1, %d))" % (x, use.out.shape[0]))


def _reshaped(use: Use) -> Native:
    return Native("jnp.reshape({0}, (-1, %d, %d))" % use.out.shape)


def _pad(use: Use) -> Native:
    top, left, bottom, right = use.layer.padding
    x = "{0}"
    if min(use.layer.padding) < 0:
        x += "[:, %s:%s, %s:%s]" % tuple(str(each) if each else "" for each in (
            -min(top, 0), min(bottom, 0), -min(left, 0), min(right, 0)))
    if max(use.layer.padding) > 0 or not any(use.layer.padding):
        x = "jnp.pad(%s, ((0, 0), (%d, %d), (%d, %d), (0, 0)))" % (
            (x,) + tuple(max(each, 0) for each in (top, bottom, left, right)))
    return Native(x)


def _slice(use: Use) -> Native:
    axis, layer = use.axes.index(use.layer.axis), use.layer
    stop = layer.stop if layer.stop < use.spec.size(layer.axis) else ""
    before = "..., " if axis == len(use.axes) - 1 else ":, " * (1 + axis)
    return Native("{0}[%s%s:%s]" % (before, layer.start or "", stop))


def _select(use: Use) -> Native:
    axis = use.axes.index(use.layer.axis)
    return Native("{0}[%s%d]" % ("..., " if axis == len(use.axes) - 1 else ":, " * (1 + axis), use.layer.index))


RULES: Rules = {
    layers.RowsToSequence: _reshaped,
    layers.ImageToSequence: _reshaped,
    layers.Flatten: _flatten,
    layers.Add: always("{0} + {1}"),
    layers.Multiply: always("{0} * {1}"),
    layers.Concat: _concat,
    layers.Scale: lambda use: Native("%r * {0}" % use.layer.factor),
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Select: _select,
    layers.Stack: lambda use: Native("jnp.stack((%s), axis=1)" % slots(len(use.specs))),
    layers.ChannelScale: lambda use: Native(
        "{0} * {self}[...]", "nnx.Param(jnp.full(%d, %r))" % (use.spec.size("C"), float(use.layer.initial))),
}

FUNCTIONS: Functions = {layers.ChannelScale: lambda use: "{0} * {p}"}

LOWERED = {layers.ChannelScale: "a parameter and a product"}
