"""How one layer is written in MLX, channels last."""

import keyword
import re
from typing import Any, Callable, Dict

from photofinish.frameworks._common.channels_last import native_axes
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call
from photofinish.graph import Graph, Node


class Use:
    """One use of a layer: its specs, and their axes in native order."""

    def __init__(self, graph: Graph, node: Node, transposed: bool = False) -> None:
        self.layer: Any = node.layer
        self.specs = graph.input_specs(node)
        self.spec = self.specs[0]
        self.out = graph.spec(node.outputs[0])
        self.axes = native_axes(self.spec.axes)
        self.transposed = transposed  # a Flatten that must transpose first


Rule = Callable[[Use], Native]
Rules = Dict[type, Rule]


def always(text: str) -> Rule:
    return lambda use: Native(text)


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
    word = re.sub(r"\W", "_", name)
    if RESERVED.match(word) or keyword.iskeyword(word):
        return word + "_"
    return word if word.isidentifier() and not word.startswith("_") else "layer_" + word
