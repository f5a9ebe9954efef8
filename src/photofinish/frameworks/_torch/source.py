"""A graph as PyTorch source: nested nn.Module classes with a straight-line forward, as a person would write them.

The state dictionary of `Model` has the graph's own names. Needs no PyTorch: see ../torch.py for what runs it.
"""

from collections import OrderedDict
from textwrap import indent
from typing import Dict, Sequence

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.forward import Forward, Native
from photofinish.frameworks._common.scopes import Writer, camel, function, objective, predictions, returned, slots
from photofinish.frameworks._torch.table import HELPERS, LOSSES, RULES
from photofinish.frameworks._torch.weights import native_name, place, places
from photofinish.graph import Graph, Node


class ModuleWriter(Writer):
    """Writes one graph in classes."""

    taken = {"Model", "F"} | set(HELPERS)

    def whole(self, inputs: Dict[str, str], method: str = "forward") -> str:
        """The body of the class of the whole graph; `inputs` maps its tensors to the names of arguments."""
        found = places(self.graph)
        ties = ["self.{} = self.{}".format(place(node, own).path, found[shared].path)
                for node in self.graph.nodes for own, shared in node.parameters if shared != node.name + "." + own]
        return self._class(self.graph.nodes, inputs, returned(self.graph), 0, ties, method)

    def body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> str:
        return self._class(nodes, inputs, outputs, depth)

    def _class(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
               ties: Sequence[str] = (), method: str = "forward") -> str:
        steps = self.steps(nodes, depth)
        modules = ["self.{} = {}".format(step.attribute, step.native.module) for step in steps if step.native.module]
        modules += [line.format(self="self." + step.attribute) for step in steps for line in step.native.then]
        construct = function("__init__", ["self"], ["super().__init__()"] + modules + list(ties)) + "\n"
        forward = function(method, ["self"] + list(inputs.values()), Forward(steps, inputs, outputs).lines)
        return (construct if modules else "") + forward

    def attribute(self, name: str) -> str:
        return native_name(name)

    def spell(self, parts: Sequence[str]) -> str:
        return camel(parts)

    def entered(self, unit: str, nodes: Sequence[Node], attribute: str, inputs: int) -> Native:
        return Native("{self}(%s)" % slots(inputs), unit + "()")

    def native(self, node: Node) -> Native:
        kind = type(node.layer)
        if kind is layers.Scan:
            return Native("{self}({0}, {1})", self._scan(node) + "()")
        if kind not in RULES:
            raise Unsupported("{} ({}): no form in PyTorch".format(node.name, kind.__name__))
        try:
            return RULES[kind](node.layer, *self.graph.input_specs(node))
        except KeyError as axes:
            raise Unsupported(
                "{} ({}): no form in PyTorch for axes {}".format(node.name, kind.__name__, axes)) from axes

    def _scan(self, node: Node) -> str:
        """The class of a loop over time: `step` is the body of the Scan."""
        body = node.layer.body  # type: ignore[attr-defined]
        if body.state:
            raise Unsupported("{} (Scan): a body with state of its own".format(node.name))
        names = dict(zip((name for name, _ in body.inputs), ("carry", "x")))
        step = ModuleWriter(body, self.units).whole(names, "step")
        return self.name_of(node.name.split("."), step + "\n" + function("forward", ["self", "carry", "sequence"], [
            "outputs = []",
            "for x in sequence.unbind(1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, torch.stack(outputs, 1)"]))


def _training_loss(graph: Graph) -> str:
    """The function a user minimises: forward and loss together, so that both are compiled together."""
    named = predictions(graph)
    inputs, targets = ([native_name(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    outputs = ", ".join("{}.detach()".format(named[name]) for name in graph.outputs)
    return function("training_loss", ["model"] + inputs + targets, [
        '"""The loss, and the outputs it was computed from."""',
        "{} = model({})".format(", ".join(named.values()), ", ".join(inputs)),
        "return {}, {}".format(objective(graph, LOSSES, named, native_name),
                               "({})".format(outputs) if len(graph.outputs) > 1 else outputs)])


SOURCE = '''\
"""To train:

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for {batch} in batches:
        optimizer.zero_grad()
        loss, _ = training_loss(model, {batch})
        loss.backward()
        optimizer.step()

Mode "compile" makes it torch.compile(training_loss, dynamic=False), and torch.compile(model) for inference.
"""

import torch
import torch.nn.functional as F
from torch import nn

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and the function training_loss. Raises Unsupported, naming the layer."""
    classes: Dict[str, str] = OrderedDict()
    body = ModuleWriter(graph, classes).whole(OrderedDict((name, native_name(name)) for name, _ in graph.inputs))
    classes[body] = "Model"
    parts = ["class {}(nn.Module):\n{}".format(name, indent(body, "    ")) for body, name in classes.items()]
    parts += [_training_loss(graph)] if graph.losses else []
    helpers = [text for name, text in HELPERS.items() if any(name + "(" in part for part in parts)]
    batch = ", ".join(native_name(name) for name, _ in graph.inputs + graph.targets)
    head = SOURCE.format(digest=graph.digest, batch=batch)
    return "\n\n".join([head] + helpers + parts)
