"""Sums, products, and layers that only move values, as libraries write them whose arrays index like NumPy's and have
their channels last."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._common.use import Rules, Use, always


def moving(library: str) -> Rules:
    """The rules, with what printed code calls the library (`jnp`)."""
    def concat(use: Use) -> Native:
        axis = 1 + use.axes.index(use.layer.axis)
        last = axis == len(use.axes)
        return Native("%s.concatenate((%s), axis=%d)" % (library, slots(len(use.specs)), -1 if last else axis))

    def flatten(use: Use) -> Native:
        x = "{0}"
        if use.transposed:
            order = (0,) + tuple(1 + use.axes.index(axis) for axis in use.spec.axes)
            x = "%s.transpose({0}, %r)" % (library, order)
        return Native("%s.reshape(%s, (-1, %d))" % (library, x, use.out.shape[0]))

    def reshaped(use: Use) -> Native:
        return Native(library + ".reshape({0}, (-1, %d, %d))" % use.out.shape)

    def pad(use: Use) -> Native:
        top, left, bottom, right = use.layer.padding
        x = "{0}"
        if min(use.layer.padding) < 0:
            x += "[:, %s:%s, %s:%s]" % tuple(str(each) if each else "" for each in (
                -min(top, 0), min(bottom, 0), -min(left, 0), min(right, 0)))
        if max(use.layer.padding) > 0 or not any(use.layer.padding):
            around = [max(each, 0) for each in (top, bottom, left, right)]
            x = "{}.pad({}, ((0, 0), ({}, {}), ({}, {}), (0, 0)))".format(library, x, *around)
        return Native(x)

    return {
        layers.RowsToSequence: reshaped,
        layers.ImageToSequence: reshaped,
        layers.Flatten: flatten,
        layers.Add: always("{0} + {1}"),
        layers.Multiply: always("{0} * {1}"),
        layers.Concat: concat,
        layers.Scale: lambda use: Native("%r * {0}" % use.layer.factor),
        layers.Pad: pad,
        layers.Slice: _slice,
        layers.Select: lambda use: Native("{0}[%s%d]" % (_before(use), use.layer.index)),
        layers.Stack: lambda use: Native("%s.stack((%s), axis=1)" % (library, slots(len(use.specs)))),
    }


def _slice(use: Use) -> Native:
    stop = use.layer.stop if use.layer.stop < use.spec.size(use.layer.axis) else ""
    return Native("{0}[%s%s:%s]" % (_before(use), use.layer.start or "", stop))


def _before(use: Use) -> str:
    """The index of all that comes before the layer's axis."""
    axis = use.axes.index(use.layer.axis)
    return "..., " if axis == len(use.axes) - 1 else ":, " * (1 + axis)
