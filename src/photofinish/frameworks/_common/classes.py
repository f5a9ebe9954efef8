"""A graph written in classes: a scope's parts are made in its constructor, its call is straight-line code."""

import re
from collections import OrderedDict
from textwrap import indent
from typing import Callable, ClassVar, Dict, List, Sequence, Set, Tuple, Type

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.forward import Forward, Native, Rules, Step
from photofinish.frameworks._common.scopes import (
    Writer,
    camel,
    function,
    objective,
    predictions,
    returned,
    slots,
)
from photofinish.graph import Graph, Node


class ClassWriter(Writer):
    """Writes one graph in classes. A framework says what it is called (`title`), how it writes each kind of layer
    (`rules`) and a loop over time (`loop`, with a place for its {length}: its body is `self.step`), what classes begin
    with (`begin`), what their call is called and is given before the inputs (`call`, `given`), what asks whether this
    is training, and how weights are shared (`ties`).
    """

    title = ""
    rules: ClassVar[Rules] = {}
    loop: Sequence[str] = ()
    begin: Sequence[str] = ("super().__init__()",)
    call = "__call__"
    given: Sequence[str] = ("self",)
    training = "self.training"

    def ties(self) -> List[str]:
        """The statements that share weights, once all parts are there. Raises Unsupported for what cannot be shared."""
        raise NotImplementedError

    def whole(self, inputs: Dict[str, str], method: str = "") -> str:
        """The body of the class of the whole graph; `inputs` maps its tensors to the names of arguments."""
        return self._class(self.graph.nodes, inputs, returned(self.graph), 0, self.ties(), method)

    def body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> str:
        return self._class(nodes, inputs, outputs, depth)

    def spell(self, parts: Sequence[str]) -> str:
        return camel(parts)

    def entered(self, unit: str, nodes: Sequence[Node], attribute: str, inputs: int) -> Native:
        return Native("{self}(%s)" % slots(inputs), unit + "()")

    def native(self, node: Node) -> Native:
        kind = type(node.layer)
        if kind is layers.Scan:
            return Native("{self}({0}, {1})", self._looped(node))
        if kind not in self.rules:
            raise Unsupported("{} ({}): no form in {}".format(node.name, kind.__name__, self.title))
        try:
            return self.ruled(node)
        except KeyError as axes:
            raise Unsupported("{} ({}): no form in {} for axes {}".format(
                node.name, kind.__name__, self.title, axes)) from axes

    def ruled(self, node: Node) -> Native:
        """A layer by its rule. Raises KeyError for axes that the framework lacks it for."""
        return self.rules[type(node.layer)](node.layer, *self.graph.input_specs(node))

    def _looped(self, node: Node) -> str:
        """The class of a loop over time: `step` is the body of the Scan. Raises Unsupported where the body keeps
        something of its own."""
        body: Graph = node.layer.body  # type: ignore[attr-defined]
        if body.state:
            raise Unsupported("{} (Scan): a body with state of its own".format(node.name))
        names = dict(zip((name for name, _ in body.inputs), ("carry", "x")))
        step = type(self)(body, self.units).whole(names, "step")
        lines = [line.format(length=self.graph.spec(node.inputs[1]).size("T")) for line in self.loop]
        return self.name_of(node.name.split("."),
                            step + "\n" + function(self.call, [*self.given, "carry", "sequence"], lines)) + "()"

    def _class(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
               ties: Sequence[str] = (), method: str = "") -> str:
        steps = self.steps(nodes, depth)
        made = ["self.{} = {}".format(step.attribute, step.native.module) for step in steps if step.native.module]
        made += [line.format(self="self." + step.attribute) for step in steps for line in step.native.then]
        lines = self.lines(steps, inputs, outputs, depth)
        begun = function("__init__", ["self"], [*self.begin, *self.constructed(made), *ties]) + "\n" if made else ""
        return begun + function(method or self.call, [*self.given, *inputs.values()], lines)

    def constructed(self, made: Sequence[str]) -> Sequence[str]:
        """The statements that make a class's parts, as they stand in its constructor."""
        return made

    def lines(self, steps: Sequence[Step], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> List[str]:
        """Those of a call."""
        return Forward(steps, inputs, outputs, self.training).lines


def shared(graph: Graph, path: Callable[[str], str], held: Dict[str, str]) -> List[str]:
    """The statements that share weights by name: `path` gives a node's attribute, `held` that of "parameter/<name>"."""
    return ["self.{}.{} = self.{}".format(path(node.name), own, held["parameter/" + name])
            for node in graph.nodes for own, name in node.parameters if name != node.name + "." + own]


def training_loss(graph: Graph, losses: Dict[type, Callable[..., str]], spell: Callable[[str], str],
                  shown: str = "{}") -> str:
    """The function training_loss of a model and a batch: forward and loss together, so that both are compiled together.
    `shown` is how an output is returned."""
    named = predictions(graph)
    inputs, targets = ([spell(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    outputs = ", ".join(shown.format(named[name]) for name in graph.outputs)
    return function("training_loss", ["model"] + inputs + targets, [
        '"""The loss, and the outputs it was computed from."""',
        "{} = model({})".format(", ".join(named.values()), ", ".join(inputs)),
        "return {}, {}".format(objective(graph, losses, named, spell),
                               "({})".format(outputs) if len(graph.outputs) > 1 else outputs)])


def module(graph: Graph, writer: Type[ClassWriter], losses: Dict[type, Callable[..., str]], spell: Callable[[str], str],
           helpers: Dict[str, str], imports: Sequence[Tuple[str, str]], head: str, base: str = "",
           trained: Callable[..., str] = training_loss) -> str:
    """The text of a module: its docstring and imports (`head`, with places for {batch}, {imports} and {digest}), the
    helpers it needs, the classes down to Model, and where the graph has a loss what `trained` writes of it.

    `imports` are pairs of what a module that needs the line has in it, and the line; `base` is what the classes are
    derived from. Raises Unsupported, naming the layer.
    """
    units: Dict[str, str] = OrderedDict()
    body = writer(graph, units).whole(OrderedDict((name, spell(name)) for name, _ in graph.inputs))
    units[body] = "Model"
    parts = ["class {}{}:\n{}".format(name, base and "({})".format(base), indent(text, "    "))
             for text, name in units.items()]
    parts += [trained(graph, losses, spell)] if graph.losses else []
    texts = _needed(helpers, parts) + parts
    code = "\n".join(texts)
    used = OrderedDict.fromkeys(line for word, line in imports if re.search(r"(?<![\w.])" + re.escape(word), code))
    for word, text in (("{batch}", ", ".join(spell(name) for name, _ in graph.inputs + graph.targets)),
                       ("{imports}", "\n".join(used)), ("{digest}", graph.digest)):
        head = head.replace(word, text)
    return "\n\n".join([head] + texts)


def _needed(helpers: Dict[str, str], parts: Sequence[str]) -> List[str]:
    """The helpers that the parts use, and those that these use, in the order they are listed."""
    todo = "\n".join(parts)
    used: Set[str] = set()
    while todo:
        new = {name for name in helpers if re.search(r"(?<![.\w]){}\(".format(name), todo)} - used
        used |= new
        todo = "\n".join(helpers[name] for name in new)
    return [text for name, text in helpers.items() if name in used]
