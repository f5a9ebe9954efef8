"""How one layer is written in Chainer."""

from typing import Any

from photofinish.frameworks._common.forward import Native, Rules, plain
from photofinish.frameworks._common.text import call, square

__all__ = ["Native", "Rules", "call", "link", "plain", "square"]


def link(kind: str, *arguments: Any, **options: Any) -> Native:
    """A link of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))
