"""How one layer is written in Gluon. `F` is what a hybrid_forward is given: arrays, or the symbols of a graph."""

from typing import Any, Sequence

from photofinish.frameworks._common.forward import Native, Rules, plain
from photofinish.frameworks._common.text import call, square

__all__ = ["Native", "Rules", "block", "call", "cropped", "padded", "plain", "square"]


def block(kind: str, *arguments: Any, **options: Any) -> Native:
    """A block of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))


def padded(text: str, padding: Sequence[int], value: float = 0.0) -> str:
    """An image with (top, left, bottom, right) around it."""
    top, left, bottom, right = padding
    filled = ", constant_value=%r" % value if value else ""
    return '%s(%s, mode="constant", pad_width=%r%s)' % (
        "F.pad", text, (0, 0, 0, 0, top, bottom, left, right), filled)


def cropped(text: str, border: Sequence[int]) -> str:
    """An image without (top, left, bottom, right)."""
    top, left, bottom, right = border
    return "F.slice(%s, begin=%r, end=%r)" % (
        text, (None, None, top or None, left or None), (None, None, -bottom or None, -right or None))
