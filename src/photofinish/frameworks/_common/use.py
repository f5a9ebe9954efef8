"""How a layer is used, where a framework's arrays have their channels last."""

from typing import Any, Callable, Dict

from photofinish.frameworks._common.channels_last import native_axes
from photofinish.frameworks._common.forward import Native
from photofinish.graph import Graph, Node


class Use:
    """One use of a layer: its specs, and their axes in native order."""

    def __init__(self, graph: Graph, node: Node, transposed: bool = False) -> None:
        self.layer: Any = node.layer
        self.node = node
        self.specs = graph.input_specs(node)
        self.spec = self.specs[0]
        self.out = graph.spec(node.outputs[0])
        self.axes = native_axes(self.spec.axes)
        self.transposed = transposed  # a Flatten that must transpose first


Rule = Callable[[Use], Native]
Rules = Dict[type, Rule]


def always(text: str) -> Rule:
    return lambda use: Native(text)
