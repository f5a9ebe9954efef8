"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use, plain


def _pad(use: Use, x: str) -> str:
    """Cropped by a Slice and padded by a Pad, whichever it takes."""
    top, left, bottom, right = use.layer.padding
    if min(use.layer.padding) < 0:
        height, width = (use.specs[0].size(axis) for axis in "HW")
        x = use("Slice", x, use.integers(max(0, -top), max(0, -left)),
                use.integers(height - max(0, -bottom), width - max(0, -right)), use.integers(2, 3))
    if max(use.layer.padding) > 0:
        edges = [max(0, each) for each in (top, left, bottom, right)]
        x = use("Pad", x, use.integers(0, 0, *edges[:2], 0, 0, *edges[2:]))
    return x


def _slice(use: Use, x: str) -> str:
    return use("Slice", x, use.integers(use.layer.start), use.integers(use.layer.stop),
               use.integers(use.axis(use.layer.axis)))


def _stack(use: Use, *vectors: str) -> str:
    first = use.integers(1)
    return use("Concat", *(use("Unsqueeze", each, first) for each in vectors), axis=1)


def _image_to_sequence(use: Use, x: str) -> str:
    return use.permuted(use("Reshape", x, use.integers(0, 0, -1)), "CT", "TC")


def _rows_to_sequence(use: Use, x: str) -> str:
    return use("Reshape", use.permuted(x, "CHW", "HWC"), use.integers(0, 0, -1))


def _channel_scale(use: Use, x: str) -> str:
    after = len(use.specs[0].axes) - use.axis("C")  # axes behind the channels
    weight = use.weight("weight")
    return use("Mul", x, use("Reshape", weight, use.integers(-1, *(1,) * after)) if after else weight)


RULES: Rules = {
    layers.Flatten: lambda use, x: use("Flatten", x, axis=1),
    layers.Add: plain("Add"),
    layers.Multiply: plain("Mul"),
    layers.Concat: lambda use, *parts: use("Concat", *parts, axis=use.axis(use.layer.axis)),
    layers.Scale: lambda use, x: use("Mul", x, use.constant(use.layer.factor)),
    layers.Pad: _pad,
    layers.Slice: _slice,
    layers.Select: lambda use, x: use(
        "Gather", x, use.constant(use.layer.index, "int64"), axis=use.axis(use.layer.axis)),
    layers.Stack: _stack,
    layers.ImageToSequence: _image_to_sequence,
    layers.RowsToSequence: _rows_to_sequence,
    layers.ChannelScale: _channel_scale,
}

LIMITS = {layers.Pad: "what is cropped is cropped by a Slice"}
