"""How one layer is written in MLX, channels last."""

import re
from typing import Any

from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.places import legal
from photofinish.frameworks._common.text import call
from photofinish.frameworks._common.use import Rule, Rules, Use, always

__all__ = ["Rule", "Rules", "Use", "always", "module", "native_name", "padded"]




def module(kind: str, *arguments: Any, **options: Any) -> Native:
    """A module of one input; options that are None are left out."""
    return Native("{self}({0})", call(kind, *arguments, **options))


def padded(text: str, top: int, bottom: int, left: int, right: int, value: str = "") -> str:
    """An image with so much put around it."""
    return "mx.pad(%s, ((0, 0), (%d, %d), (%d, %d), (0, 0))%s)" % (
        text, top, bottom, left, right, value and ", constant_values=" + value)


RESERVED = re.compile("""
    (self|mx|nn|np|x|carry|sequence|step|model|loss|outputs?\\d*|training_loss|GRAPH|training|state|source
    |clear|copy|fromkeys|get|items|keys|pop|popitem|setdefault|update|values
    |apply(_to_modules)?|children|(un)?freeze|filter_and_map|leaf_modules|(named_)?modules|parameters
    |(load|save)_weights|train|eval|trainable_\\w+|valid_\\w+|update_modules|set_dtype|is_module|to_quantized)$""",
                      re.VERBOSE)


def native_name(name: str) -> str:
    """A name of the graph as an attribute that is legal, and that neither nn.Module, which is a dictionary, nor the
    printed code uses itself. It begins with no underscore: what does is no parameter."""
    word = legal(name, RESERVED)
    return "layer_" + word if word.startswith("_") else word
