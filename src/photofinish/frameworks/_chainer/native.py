"""How one layer is written in Chainer."""

from typing import Any, Callable, Dict

from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call, square

__all__ = ["Native", "Rules", "call", "link", "plain", "square"]

Rules = Dict[type, Callable[..., Native]]  # from a layer and the specs of its inputs


def plain(text: str) -> Callable[..., Native]:
    return lambda layer, *specs: Native(text)


def link(kind: str, *arguments: Any, **options: Any) -> Native:
    """A link of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))
