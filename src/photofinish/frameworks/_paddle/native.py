"""How one layer is written in Paddle."""

from typing import Any

from photofinish.frameworks._common.forward import Native, Rules, plain
from photofinish.frameworks._common.text import Code, write

__all__ = ["Code", "Native", "Rules", "module", "plain", "write"]


def module(kind: str, *arguments: Any, **named: Any) -> Native:
    """A layer of one input; options that are None are left out."""
    return Native("{self}({0})", write(kind, *arguments, **named))
