"""How one layer is written in MindSpore."""

from typing import Any

from photofinish.frameworks._common.forward import Native, Rules, plain
from photofinish.frameworks._common.text import call, short

__all__ = ["Native", "Rules", "call", "cell", "frozen", "plain", "short", "unless"]


def cell(kind: str, *arguments: Any, **options: Any) -> Native:
    """A cell of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))


def frozen(*names: str) -> Any:
    """The statements after a cell's constructor that keep parameters of it from being trained."""
    return tuple("{self}.%s.requires_grad = False" % name for name in names)


def unless(default: Any, value: Any) -> Any:
    return None if value == default else value
