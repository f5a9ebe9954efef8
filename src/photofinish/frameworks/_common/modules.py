"""A graph as nested classes of modules with a straight-line forward: how PyTorch, and what is alike, is written."""

import keyword
import re
from textwrap import indent
from typing import Any, Callable, ClassVar, Dict, List, NamedTuple, Optional, Pattern, Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.forward import Forward, Native
from photofinish.frameworks._common.scopes import Writer, camel, function, objective, predictions, returned, slots
from photofinish.graph import Graph, Node

__all__ = ["Code", "ModuleWriter", "Native", "Place", "Rules", "native_name", "plain", "training_loss", "write"]

Rules = Dict[type, Callable[..., Native]]  # from a layer and the specs of its inputs


class Code(str):
    """The value of an option that is an expression, not a text."""

    __repr__ = str.__str__


def write(call: str, *arguments: Any, **named: Any) -> str:
    """The text of a call. A string argument is taken as code, an option that is None is left out, and a size per axis
    is written once where all agree."""
    words = [each if isinstance(each, str) else repr(_short(each)) for each in arguments]
    words += ["{}={!r}".format(name, _short(value)) for name, value in named.items() if value is not None]
    return "{}({})".format(call, ", ".join(words))


def _short(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) and value == value[:1] * len(value) else value


def plain(call: str) -> Callable[..., Native]:
    return lambda layer, *specs: Native(call)


def native_name(name: str, reserved: Pattern[str]) -> str:
    """A name of the graph as an attribute that is legal and not `reserved` for what a module has itself."""
    word = re.sub(r"\W", "_", name)
    return "_" + word if reserved.match(word) or keyword.iskeyword(word) or not word.isidentifier() else word


class Place(NamedTuple):
    """Where the native model keeps an array: its path, whether as a matrix turned round, and the order of its rows
    where that is another (native row i is canonical row order[i])."""

    path: str
    transposed: bool = False
    order: Optional[np.ndarray] = None

    def native(self, array: np.ndarray) -> np.ndarray:
        array = array if self.order is None else array[self.order]
        return np.ascontiguousarray(array.T) if self.transposed else array

    def canonical(self, array: np.ndarray) -> np.ndarray:
        array = np.ascontiguousarray(array.T) if self.transposed else array
        return array if self.order is None else array[np.argsort(self.order)]


class ModuleWriter(Writer):
    """Writes one graph in classes. A framework says what it calls things, how it writes each kind of layer (`rules`;
    `step_loop` is the forward of a Scan, whose body is `self.step`), and where its modules keep their arrays
    (`place`)."""

    title = ""
    module = ""  # the class that modules derive from
    forward = "forward"
    rules: ClassVar[Rules] = {}
    step_loop: Sequence[str] = ()

    def place(self, node: Node, own: str) -> Place:
        """Where a node's module has the array that its layer calls `own`."""
        raise NotImplementedError

    def places(self) -> Dict[str, Place]:
        """Every parameter and state of the graph by name; a shared one is where its first node has it."""
        found: Dict[str, Place] = {}
        for node in self.graph.nodes:
            for own, name in node.parameters + node.state:
                found.setdefault(name, self.place(node, own))
        return found

    def whole(self, inputs: Dict[str, str], method: str = "") -> str:
        """The body of the class of the whole graph; `inputs` maps its tensors to the names of arguments."""
        found = self.places()
        ties = ["self.{} = self.{}".format(self.place(node, own).path, found[shared].path)
                for node in self.graph.nodes for own, shared in node.parameters if shared != node.name + "." + own]
        return self._class(self.graph.nodes, inputs, returned(self.graph), 0, ties, method or self.forward)

    def body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> str:
        return self._class(nodes, inputs, outputs, depth, (), self.forward)

    def _class(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
               ties: Sequence[str], method: str) -> str:
        steps = self.steps(nodes, depth)
        modules = ["self.{} = {}".format(step.attribute, step.native.module) for step in steps if step.native.module]
        modules += [line.format(self="self." + step.attribute) for step in steps for line in step.native.then]
        construct = function("__init__", ["self"], ["super().__init__()"] + modules + list(ties)) + "\n"
        forward = function(method, ["self"] + list(inputs.values()), Forward(steps, inputs, outputs).lines)
        return (construct if modules else "") + forward

    def spell(self, parts: Sequence[str]) -> str:
        return camel(parts)

    def entered(self, unit: str, nodes: Sequence[Node], attribute: str, inputs: int) -> Native:
        return Native("{self}(%s)" % slots(inputs), unit + "()")

    def native(self, node: Node) -> Native:
        kind = type(node.layer)
        if kind is layers.Scan:
            return Native("{self}({0}, {1})", self._scan(node) + "()")
        if kind not in self.rules:
            raise Unsupported("{} ({}): no form in {}".format(node.name, kind.__name__, self.title))
        try:
            return self.rules[kind](node.layer, *self.graph.input_specs(node))
        except KeyError as axes:
            raise Unsupported("{} ({}): no form in {} for axes {}".format(
                node.name, kind.__name__, self.title, axes)) from axes

    def _scan(self, node: Node) -> str:
        """The class of a loop over time: `step` is the body of the Scan."""
        body = node.layer.body  # type: ignore[attr-defined]
        if body.state:
            raise Unsupported("{} (Scan): a body with state of its own".format(node.name))
        names = dict(zip((name for name, _ in body.inputs), ("carry", "x")))
        step = type(self)(body, self.units).whole(names, "step")
        loop = function(self.forward, ["self", "carry", "sequence"], self.step_loop)
        return self.name_of(node.name.split("."), step + "\n" + loop)

    def classes(self, inputs: Dict[str, str]) -> List[str]:
        """The text of every class, `Model` last."""
        body = self.whole(inputs)
        self.units[body] = "Model"
        return ["class {}({}):\n{}".format(name, self.module, indent(text, "    "))
                for text, name in self.units.items()]


def training_loss(graph: Graph, losses: Dict[type, Callable[..., str]], spell: Callable[[str], str]) -> str:
    """The function a user minimises: forward and loss together."""
    named = predictions(graph)
    inputs, targets = ([spell(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    return function("training_loss", ["model"] + inputs + targets, [
        '"""The loss, and the outputs it was computed from."""',
        "{} = model({})".format(", ".join(named.values()), ", ".join(inputs)),
        "return {}, {}".format(objective(graph, losses, named, spell), "({})".format(
            ", ".join(named[name] for name in graph.outputs)) if len(graph.outputs) > 1 else named[graph.outputs[0]])])
