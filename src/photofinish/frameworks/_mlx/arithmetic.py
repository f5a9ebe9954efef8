"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._mlx.use import Rules, Use, always, padded


def _concat(use: Use) -> Native:
    return Native("mx.concatenate((%s), axis=%d)" % (slots(len(use.specs)), 1 + use.axes.index(use.layer.axis)))


def _flatten(use: Use) -> Native:
    x = "{0}"
    if use.transposed:
        x = "mx.transpose({0}, %r)" % ((0,) + tuple(1 + use.axes.index(axis) for axis in use.spec.axes),)
    return Native("mx.reshape(%s, (-1, %d))" % (x, use.out.shape[0]))


def _reshaped(use: Use) -> Native:
    return Native("mx.reshape({0}, (-1, %d, %d))" % use.out.shape)


def _pad(use: Use) -> Native:
    top, left, bottom, right = use.layer.padding
    x = "{0}"
    if min(use.layer.padding) < 0:
        x += "[:, %s:%s, %s:%s]" % tuple(str(each) if each else "" for each in (
            -min(top, 0), min(bottom, 0), -min(left, 0), min(right, 0)))
    return Native(padded(x, *(max(each, 0) for each in (top, bottom, left, right))))


def _slice(use: Use) -> Native:
    axis, layer = use.axes.index(use.layer.axis), use.layer
    return Native("{0}[%s%d:%d]" % (":, " * (1 + axis), layer.start, layer.stop))


def _select(use: Use) -> Native:
    return Native("{0}[%s%d]" % (":, " * (1 + use.axes.index(use.layer.axis)), use.layer.index))


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
    layers.Stack: lambda use: Native("mx.stack((%s), axis=1)" % slots(len(use.specs))),
    layers.ChannelScale: lambda use: Native(
        "{0} * {self}", "mx.full((%d,), %r)" % (use.spec.size("C"), float(use.layer.initial))),
}

LOWERED = {layers.ChannelScale: "a parameter and a product"}
