"""How one layer is written in PyTorch."""

from typing import Any, Dict

from photofinish.frameworks._common import text
from photofinish.frameworks._common.forward import Native, Rules, plain

__all__ = ["Native", "Rules", "module", "plain", "write"]

DEFAULTS: Dict[str, Any] = {  # PyTorch's own: an argument that equals it is not written
    "stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1, "bias": True, "ceil_mode": False,
    "affine": True, "count_include_pad": True, "eps": 1e-5, "momentum": 0.1, "label_smoothing": 0.0,
    "ignore_index": -100}


def write(function: str, *arguments: Any, **named: Any) -> str:
    """The text of a call; a string argument is taken as code."""
    return text.write(function, *arguments, **{name: value for name, value in named.items()
                                               if name not in DEFAULTS or text.short(value) != DEFAULTS[name]})


def module(kind: str, *arguments: Any, **named: Any) -> Native:
    """A module of one input."""
    return Native("{self}({0})", write(kind, *arguments, **named))
