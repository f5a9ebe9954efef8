"""How one layer is written in tinygrad, channels first."""

import re
from typing import Any

from photofinish.frameworks._common.forward import Native, Rules, plain
from photofinish.frameworks._common.places import legal
from photofinish.frameworks._common.text import call

__all__ = ["Native", "Rules", "method", "module", "native_name", "plain", "swapped"]


def module(kind: str, *arguments: Any, **options: Any) -> Native:
    """An object of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))


def method(name: str, *arguments: Any, **options: Any) -> Native:
    """A method of the input."""
    return Native("{0}." + call(name, *arguments, **options))


def swapped(text: str) -> str:
    """What takes a sequence with its channels in front of its positions."""
    return text.replace("{0}", "{0}.transpose(1, 2)") + ".transpose(1, 2)"


RESERVED = re.compile("(self|nn|np|Tensor|TRAINING|x|carry|sequence|step|model|loss|outputs?\\d*|training_loss|GRAPH)$")


def native_name(name: str) -> str:
    """A name of the graph as an attribute that is legal, and that the printed code does not use itself."""
    return legal(name, RESERVED)
