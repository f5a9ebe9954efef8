"""A graph as PyTorch source: nested nn.Module classes with a straight-line forward, as a person would write them.

The state dictionary of `Model` has the graph's own names. Needs no PyTorch: see ../torch.py for what runs it.
"""

import re
from collections import Counter, OrderedDict
from itertools import chain, count, groupby
from textwrap import indent
from typing import Dict, List, Sequence, Tuple

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._torch.forward import VARIABLES, Forward, Step
from photofinish.frameworks._torch.native import Native
from photofinish.frameworks._torch.table import HELPERS, LOSSES, RULES
from photofinish.frameworks._torch.weights import native_name, place, places
from photofinish.graph import Graph, Node


def _camel(parts: Sequence[str]) -> str:
    return "".join(word[:1].upper() + word[1:] for part in parts for word in re.split(r"[\W_]+", part))


def _reads(nodes: Sequence[Node]) -> "Counter[str]":
    return Counter(chain.from_iterable(node.inputs for node in nodes))


def _returned(graph: Graph) -> Tuple[str, ...]:
    """What the forward returns: the outputs, and whatever else a loss looks at (None in inference)."""
    seen = OrderedDict.fromkeys(loss.prediction for loss in graph.losses)
    return graph.outputs + tuple(name for name in seen if name not in graph.outputs)


class Writer:
    """Writes one graph. `classes` maps the body of each class to its name, inner classes first; scopes
    that are alike share a class."""

    def __init__(self, graph: Graph, classes: Dict[str, str]) -> None:
        self.graph = graph
        self.classes = classes
        self.reads = _reads(graph.nodes) + Counter(_returned(graph))

    def body(self, inputs: Dict[str, str], method: str = "forward") -> str:
        """The body of the class of the whole graph; `inputs` maps its tensors to the names of arguments."""
        found = places(self.graph)
        ties = ["self.{} = self.{}".format(place(node, own).path, found[shared].path)
                for node in self.graph.nodes for own, shared in node.parameters if shared != node.name + "." + own]
        return self._body(self.graph.nodes, inputs, _returned(self.graph), 0, ties, method)

    def _body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
              ties: Sequence[str] = (), method: str = "forward") -> str:
        def place(node: Node) -> Tuple[str, bool]:
            parts = node.name.split(".")
            return parts[depth], len(parts) > depth + 1

        steps = [self._scope(list(run), depth) if scoped else self._layer(next(run))
                 for (_, scoped), run in groupby(nodes, key=place)]
        for name, times in Counter(step.attribute for step in steps).items():
            if times > 1:
                raise Unsupported("two parts of one scope are called {}: give one another name".format(name))
        if all(step.training_only for step in steps):  # then the caller asks whether this is training
            steps = [step._replace(training_only=False) for step in steps]
        modules = ["self.{} = {}".format(step.attribute, step.native.module) for step in steps if step.native.module]
        modules += [line.format(self="self." + step.attribute) for step in steps for line in step.native.then]
        construct = _function("__init__", ["self"], ["super().__init__()"] + modules + list(ties)) + "\n"
        forward = _function(method, ["self"] + list(inputs.values()), Forward(steps, inputs, outputs).lines)
        return (construct if modules else "") + forward

    def _class(self, path: Sequence[str], body: str) -> str:
        """The name of the class with that body: the last part of its path, or all of it where that is taken."""
        if body not in self.classes:
            used = set(self.classes.values()) | set(HELPERS) | {"Model", "F"}
            full = _camel(path)
            names = chain([_camel([re.sub(r"\d+$", "", path[-1])]), full], (full + str(i) for i in count(2)))
            self.classes[body] = next(name for name in names if name.isidentifier() and name not in used)
        return self.classes[body]

    def _layer(self, node: Node) -> Step:
        kind, attribute = type(node.layer), native_name(node.name.split(".")[-1])
        if kind is layers.Scan:
            native = Native("{self}({0}, {1})", self._scan(node) + "()")
        elif kind in RULES:
            try:
                native = RULES[kind](node.layer, *self.graph.input_specs(node))
            except KeyError as axes:
                raise Unsupported(
                    "{} ({}): no form in PyTorch for axes {}".format(node.name, kind.__name__, axes)) from axes
        else:
            raise Unsupported("{} ({}): no form in PyTorch".format(node.name, kind.__name__))
        return Step(kind, attribute, native, node.inputs, node.outputs, node.training_only)

    def _scan(self, node: Node) -> str:
        """The class of a loop over time: `step` is the body of the Scan."""
        body = node.layer.body  # type: ignore[attr-defined]
        if body.state:
            raise Unsupported("{} (Scan): a body with state of its own".format(node.name))
        step = Writer(body, self.classes).body(dict(zip((name for name, _ in body.inputs), ("carry", "x"))), "step")
        return self._class(node.name.split("."), step + "\n" + _function("forward", ["self", "carry", "sequence"], [
            "outputs = []",
            "for x in sequence.unbind(1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, torch.stack(outputs, 1)"]))

    def _scope(self, nodes: List[Node], depth: int) -> Step:
        path = nodes[0].name.split(".")[:depth + 1]
        inside, made = _reads(nodes), [name for node in nodes for name in node.outputs]
        inputs = [name for name in inside if name not in made]
        outputs = [name for name in made if self.reads[name] > inside[name]]
        name = self._class(path, self._body(nodes, dict(zip(inputs, VARIABLES)), outputs, depth + 1))
        call = "{self}(%s)" % ", ".join("{%d}" % i for i in range(len(inputs)))
        return Step(None, native_name(path[-1]), Native(call, name + "()"), tuple(inputs), tuple(outputs),
                    all(node.training_only for node in nodes))


def _function(name: str, arguments: Sequence[str], lines: Sequence[str]) -> str:
    return "def {}({}):\n{}\n".format(name, ", ".join(arguments), indent("\n".join(lines), "    "))


def _training_loss(graph: Graph) -> str:
    """The function a user minimises: forward and loss together, so that both are compiled together."""
    returned = _returned(graph)
    named = {name: "output{}".format(i if len(returned) > 1 else "") for i, name in enumerate(returned, start=1)}
    inputs, targets = ([native_name(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    terms = []
    for loss in graph.losses:
        text = LOSSES[type(loss.layer)](loss.layer, named[loss.prediction], native_name(loss.target),
                                        graph.spec(loss.prediction))
        terms.append(text if loss.weight == 1 else "{!r} * {}".format(loss.weight, text))
    outputs = ", ".join("{}.detach()".format(named[name]) for name in graph.outputs)
    return _function("training_loss", ["model"] + inputs + targets, [
        '"""The loss, and the outputs it was computed from."""',
        "{} = model({})".format(", ".join(named[name] for name in returned), ", ".join(inputs)),
        "return {}, {}".format(" + ".join(terms), "({})".format(outputs) if len(graph.outputs) > 1 else outputs)])


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
    body = Writer(graph, classes).body(OrderedDict((name, native_name(name)) for name, _ in graph.inputs))
    classes[body] = "Model"
    parts = ["class {}(nn.Module):\n{}".format(name, indent(body, "    ")) for body, name in classes.items()]
    parts += [_training_loss(graph)] if graph.losses else []
    helpers = [text for name, text in HELPERS.items() if any(name + "(" in part for part in parts)]
    batch = ", ".join(native_name(name) for name, _ in graph.inputs + graph.targets)
    head = SOURCE.format(digest=graph.digest, batch=batch)
    return "\n\n".join([head] + helpers + parts)
