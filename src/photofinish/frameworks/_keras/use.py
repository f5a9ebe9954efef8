"""How one layer is written in Keras. Images are laid out NHWC."""

import keyword
import re
from typing import Any, Callable, Dict, List

from photofinish.frameworks._common.text import call
from photofinish.graph import Graph, Node


def layer_name(name: str, backend: str) -> str:
    """What the Keras layer of a node is called. Where Keras runs on PyTorch, no name of a parameter may hold a dot."""
    return name.replace(".", "-") if backend else name


class Use:
    """One use of a layer, to be printed: its layer, specs, name, the mode it will run in, and the backend that the code
    is written for (none: TensorFlow's own operations)."""

    def __init__(self, graph: Graph, node: Node, name: str, mode: str, backend: str = "") -> None:
        self.layer: Any = node.layer
        self.node = node
        self.specs = graph.input_specs(node)
        self.spec = self.specs[0]
        self.out = graph.spec(node.outputs[0])
        self.name = name
        self.mode = mode
        self.backend = backend
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
    "x", "GRAPH", "keras", "layers", "ops", "os", "np", "tf", "torch", "build", "model", "inference", "optimizer",
    "loss_of", "train_step", "infer", "outputs", "loss", "tape", "gradients", "values", "variable"}


def identifier(name: str) -> str:
    """A Python name for a tensor or scope. Helpers are functions and classes: a tensor may not hide one."""
    word = re.sub(r"\W", "_", name)
    if word in RESERVED or keyword.iskeyword(word):
        return word + "_"
    return "_" + word if word[0].isdigit() else word
