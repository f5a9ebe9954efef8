"""How one layer is written in Keras. Images are laid out NHWC."""

import json
import keyword
import re
from typing import Any, Callable, Dict, List, Sequence, Tuple

from photofinish.graph import Graph, Node
from photofinish.layers import Spec


def native_axes(axes: str) -> str:
    """Channels last: "CHW" -> "HWC"."""
    return axes.replace("C", "") + "C" if "C" in axes else axes


def native_shape(spec: Spec) -> Tuple[int, ...]:
    return tuple(spec.size(axis) for axis in native_axes(spec.axes))


def show(value: Any) -> str:
    """A Python literal, strings in double quotes."""
    return json.dumps(value) if isinstance(value, str) else repr(value)


def call(function: str, *arguments: Any, **options: Any) -> str:
    """The text of a call; options that are None are left out."""
    given = [show(each) for each in arguments]
    given += ["{}={}".format(key, show(value)) for key, value in options.items() if value is not None]
    return "{}({})".format(function, ", ".join(given))


def square(pair: Sequence[int], default: int = 0) -> Any:
    """Keras' spelling of a size per axis: one number if they agree, None if that is the default."""
    return tuple(pair) if pair[0] != pair[1] else (pair[0] if pair[0] != default else None)


class Use:
    """One use of a layer, to be printed: its layer, specs, name, and the mode it will run in."""

    def __init__(self, graph: Graph, node: Node, name: str, mode: str) -> None:
        self.layer: Any = node.layer
        self.node = node
        self.specs = graph.input_specs(node)
        self.spec = self.specs[0]
        self.out = graph.spec(node.outputs[0])
        self.name = name
        self.mode = mode
        self.transposed = False  # a Flatten that must transpose first

    def keras(self, kind: str, *arguments: Any, **options: Any) -> str:
        return call("layers." + kind, *arguments, **dict(options, name=self.name)) + "({0})"

    def merge(self, kind: str, **options: Any) -> str:
        several = ", ".join("{{{}}}".format(i) for i in range(len(self.specs)))
        return call("layers." + kind, **dict(options, name=self.name)) + "([{}])".format(several)


# From a use to expressions applied one after another, each to the result of the one before ({0}; the first has
# the node's inputs: {0}, {1}, ...)
Printed = List[str]
Rules = Dict[type, Callable[[Use], Printed]]
RESERVED = {  # names of the printed module
    "x", "GRAPH", "keras", "layers", "ops", "np", "tf", "build", "model", "inference", "optimizer", "loss_of",
    "train_step", "infer", "outputs", "loss", "tape", "gradients", "values", "variable"}


def identifier(name: str) -> str:
    """A Python name for a tensor or scope. Helpers are functions and classes: a tensor may not hide one."""
    word = re.sub(r"\W", "_", name)
    if word in RESERVED or keyword.iskeyword(word):
        return word + "_"
    return "_" + word if word[0].isdigit() else word
