"""A graph as flax.nnx source: nested nnx.Module classes with a straight-line call, as a person would write them.

The modules have the graph's own names. Needs no JAX: see ../jax.py for what runs it.
"""

import re
from collections import OrderedDict
from textwrap import indent
from typing import Dict, List, Optional, Sequence

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import feature_orders, owns, reorders
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.forward import Forward, Native
from photofinish.frameworks._common.scopes import (
    Writer,
    camel,
    function,
    objective,
    owner,
    predictions,
    returned,
    slots,
)
from photofinish.frameworks._flax import optimizers
from photofinish.frameworks._flax.use import Functions, Rules, Use, made, native_name
from photofinish.graph import Graph, Node
from photofinish.optimizers import SGD, Optimizer

LOSSES, HELPERS = (gathered("_flax", table) for table in ("LOSSES", "HELPERS"))
RULES: Rules = gathered("_flax", "RULES")
FUNCTIONS: Functions = gathered("_flax", "FUNCTIONS")
PLAIN_HELPERS = dict(HELPERS, **gathered("_flax", "PLAIN_HELPERS"))  # with what flax has

PLAIN = SGD()
IMPORTS = (("partial(", "from functools import partial"),
           ("count()", "from itertools import count"), ("", ""), ("jax.", "import jax"),
           ("jnp.", "import jax.numpy as jnp"), ("np.", "import numpy as np"), ("optax.", "import optax"),
           ("nnx.", "from flax import nnx"))


def argument(name: str) -> str:
    """The name of an input or a target, which may hide nothing that the code calls."""
    word = native_name(name)
    return word + "_" if word in PLAIN_HELPERS else word


def arguments(graph: Graph, targets: bool = False) -> List[str]:
    return [argument(name) for name, _ in graph.inputs + (graph.targets if targets else ())]


def path(node: Node) -> str:
    return ".".join(native_name(part) for part in node.name.split("."))


def use(graph: Graph, node: Node, orders: Sequence[str]) -> Use:
    """One use of a layer. Raises Unsupported where JAX has none."""
    if type(node.layer) not in RULES:
        raise Unsupported("{} ({}): no form in JAX".format(node.name, type(node.layer).__name__))
    transposed = (isinstance(node.layer, layers.Flatten) and node.outputs[0] not in orders
                  and reorders(graph.spec(node.inputs[0])))
    return Use(graph, node, transposed)


def scan_body(node: Node) -> Graph:
    """The step of a loop. Raises Unsupported where it keeps or draws something of its own."""
    body: Graph = node.layer.body  # type: ignore[attr-defined]
    if body.state or body.random_nodes:
        raise Unsupported("{} (Scan): a body with {} of its own".format(
            node.name, "state" if body.state else "random numbers"))
    return body


class FlaxWriter(Writer):
    """Writes one graph in classes."""

    taken = {"Model"} | set(HELPERS)

    def __init__(self, graph: Graph, units: Dict[str, str]) -> None:
        super().__init__(graph, units)
        self.orders = list(feature_orders(graph))

    def attribute(self, name: str) -> str:
        return native_name(name)

    def spell(self, parts: Sequence[str]) -> str:
        return camel(parts)

    def native(self, node: Node) -> Native:
        found = RULES[type(node.layer)](use(self.graph, node, self.orders))
        if isinstance(node.layer, layers.Scan):
            return found._replace(module=_construction(self._scan(node), self.units))
        if not owns(node) and isinstance(owner(self.graph, node).layer, layers.Embedding) and isinstance(
                node.layer, layers.Linear):
            bias = "" if node.layer.bias else ", use_bias=False"
            return found._replace(module="TiedLinear({}{})".format(node.layer.features, bias))
        return found

    def ties(self) -> List[str]:
        """The statements that share weights. Raises Unsupported for what flax.nnx cannot share."""
        lines = []
        for node in self.graph.nodes:
            if not owns(node):
                source = owner(self.graph, node)
                kinds = type(source.layer), type(node.layer)
                if kinds not in ((layers.Linear, layers.Linear), (layers.Embedding, layers.Embedding),
                                 (layers.Embedding, layers.Linear)):
                    raise Unsupported("{} ({}) cannot share the weight of {} ({}) in flax".format(
                        node.name, kinds[1].__name__, source.name, kinds[0].__name__))
                array = "embedding" if kinds[0] is layers.Embedding else "kernel"
                lines.append("self.{}.{array} = self.{}.{array}".format(path(node), path(source), array=array))
        return lines

    def whole(self, inputs: Dict[str, str], method: str = "__call__") -> str:
        """The body of the class of the whole graph; `inputs` maps its tensors to the names of arguments."""
        return self._class(self.graph.nodes, inputs, returned(self.graph), 0, self.ties(), method)

    def body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> str:
        return self._class(nodes, inputs, outputs, depth, (), "__call__")

    def _class(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
               ties: Sequence[str], method: str) -> str:
        steps = self.steps(nodes, depth)
        modules = ["self.{} = {}".format(step.attribute, step.native.module) for step in steps if step.native.module]
        if any(step.training_only for step in steps):
            modules.insert(0, "self.deterministic = False  # true in inference: see nnx.Module.eval")
        call = function(method, ["self"] + list(inputs.values()),
                        Forward(steps, inputs, outputs, "not self.deterministic").lines)
        return (function("__init__", ["self", "rngs"], modules + list(ties)) + "\n" if modules else "") + call

    def entered(self, unit: str, nodes: Sequence[Node], attribute: str, inputs: int) -> Native:
        return Native("{self}(%s)" % slots(inputs), _construction(unit, self.units))

    def _scan(self, node: Node) -> str:
        """The class of a loop over time: `step` is the body of the Scan."""
        body = scan_body(node)
        step = FlaxWriter(body, self.units).whole(dict(zip((name for name, _ in body.inputs), ("carry", "x"))), "step")
        return self.name_of(node.name.split("."), step + "\n" + function("__call__", ["self", "carry", "sequence"], [
            "carry, outputs = jax.lax.scan(lambda carry, x: self.step(carry, x), carry, sequence.swapaxes(0, 1))",
            "return carry, outputs.swapaxes(0, 1)"]))


def _construction(unit: str, units: Dict[str, str]) -> str:
    """The text that makes an object of a class, which has random numbers if it has parts."""
    body = next(text for text, name in units.items() if name == unit)
    return made(unit) if "def __init__" in body else unit + "()"


def outputs(graph: Graph) -> str:
    """Those that are outputs of the graph, as an expression."""
    named = predictions(graph)
    text = ", ".join(named[name] for name in graph.outputs)
    return "({})".format(text) if len(graph.outputs) > 1 else text


def assembled(head: str, helpers: Dict[str, str], parts: Sequence[str]) -> str:
    """A module: its docstring, imports and digest (`head`), the helpers its parts use, the parts."""
    used: Dict[str, str] = OrderedDict()
    todo = "\n".join(parts)
    while True:  # helpers use helpers
        new = [name for name in helpers if name not in used and re.search(r"(?<![.\w]){}[(,]".format(name), todo)]
        if not new:
            break
        used.update((name, helpers[name]) for name in new)
        todo = "\n".join(helpers[name] for name in new)
    texts = [text for name, text in helpers.items() if name in used] + list(parts)
    code = "\n".join(texts)
    imports = [line for word, line in IMPORTS if re.search(r"\b" + re.escape(word), code) or not word]
    return "\n\n".join([head.replace("{imports}", "\n".join(imports).strip())] + texts)


HEAD = '''\
"""To train:

    model, optimizer = build()
    train_step, infer = compiled(model, optimizer)
    weights, memory = nnx.state(model), nnx.state(optimizer)
    for {batch} in batches:
        loss, weights, memory = train_step(weights, memory, {batch})
    nnx.update(model, weights)

Images are laid out with their channels last.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''

INFERENCE_HEAD = '''\
"""To infer:

    model = build()
    infer = compiled(model)
    output = infer(nnx.state(model), {batch})

Images are laid out with their channels last.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''

STEPS = '''\
def build():
    model = {model}
    return model, nnx.Optimizer(model, {optimizer}, wrt=nnx.Param)


def compiled(model, optimizer):
    """The training step and inference as functions of arrays: no step walks over the objects of the model."""
    model_graph, optimizer_graph = nnx.graphdef(model), nnx.graphdef(optimizer)

    @partial(jax.jit, donate_argnums=(0, 1))
    def train_step(weights, memory, {batch}):
        model, optimizer = nnx.merge(model_graph, weights), nnx.merge(optimizer_graph, memory)
        (loss, _), gradients = nnx.value_and_grad(training_loss, has_aux=True)(model, {batch})
        optimizer.update(model, gradients)
        return loss, nnx.state(model), nnx.state(optimizer)

{infer}
    return train_step, infer
'''

INFER = '''\
    @jax.jit
    def infer(weights, {inputs}):
        model = nnx.merge(model_graph, weights)
        model.eval()
        return {output}
'''

INFERENCE = '''\
def build():
    return {model}


def compiled(model):
    """Inference as a function of arrays: no step walks over the objects of the model."""
    model_graph = nnx.graphdef(model)

{infer}
    return infer
'''


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, made: str = "{}", given: str = "{}",
                  helpers: Dict[str, str] = HELPERS) -> str:
    """A module with the class Model and how it is compiled; where the graph has a loss, with the function
    training_loss, and (unless the optimizer is None) the training step. A precision says what the model is `made` as,
    and how its outputs are `given`, with `helpers` of its own. Raises Unsupported, naming the layer."""
    units: Dict[str, str] = OrderedDict()
    body = FlaxWriter(graph, units).whole(OrderedDict((name, argument(name)) for name, _ in graph.inputs))
    units[body] = "Model"
    parts = ["class {}(nnx.Module):\n{}".format(name, indent(text, "    ")) for text, name in units.items()]
    inputs, batch = ", ".join(arguments(graph)), ", ".join(arguments(graph, targets=True))
    trains = bool(graph.losses) and optimizer is not None
    if graph.losses:
        named = predictions(graph)
        parts.append(function("training_loss", ["model"] + arguments(graph, targets=True), [
            '"""The loss, and the outputs it was computed from."""',
            "{} = {}".format(", ".join(named.values()), given.format("model({})".format(inputs))),
            "return {}, {}".format(objective(graph, LOSSES, named, argument), outputs(graph))]))
    parts.append((STEPS if trains else INFERENCE).format(
        model=made.format(_construction("Model", units).replace("rngs=rngs", "rngs=nnx.Rngs(0)")), batch=batch,
        optimizer=optimizers.written(optimizer) if optimizer is not None else "", infer=INFER.format(
            inputs=inputs, output=given.format("model({})".format(inputs)))))
    head = HEAD if trains else INFERENCE_HEAD
    return assembled(head.replace("{digest}", graph.digest).replace("{batch}", batch if trains else inputs), helpers,
                     parts)
