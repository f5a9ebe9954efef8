"""Keras code for a graph, as text: what `show --as keras` prints and what ../tensorflow.py executes."""

import re
from typing import Any, ClassVar, Dict, List, Optional, Sequence, Set, Tuple, Type

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import (
    feature_orders,
    native_shape,
    owns,
    reorders,
    shared_nodes,
)
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.text import call, show
from photofinish.frameworks._keras import losses, optimizers
from photofinish.frameworks._keras.use import Printed, Rules, Use, identifier, layer_name
from photofinish.graph import Graph, Loss, Node
from photofinish.optimizers import SGD, Optimizer

RULES = gathered("_keras", "RULES")
# tf.function's options by mode; None: plain eager Python
MODES: Dict[str, Optional[Dict[str, Any]]] = {"eager": None, "graph": {}, "xla": {"jit_compile": True}}
PLAIN = SGD()
IMPORTS = (("keras.", "import keras"), ("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"),
           ("torch.", "import torch"), ("layers.", "from keras import layers"), ("ops.", "from keras import ops"))


def helpers(backend: str = "") -> Dict[str, str]:
    """What Keras lacks, printed above the model where it is used. A family has HELPERS, of which some use operations of
    TensorFlow's own; PORTABLE stands in for those on any `backend`, ON_TORCH and ON_JAX on that one."""
    found: Dict[str, str] = {}
    for table in ["HELPERS"] + (["PORTABLE", "ON_" + backend.upper()] if backend else []):
        found.update(gathered("_keras", table))
        found.update(getattr(optimizers, table, {}))
    return found


class Writer:
    """Prints the layers of a graph, one line each. `prefix` comes before the names of its layers; `backend` is the one
    that the code runs on, where it is not written in TensorFlow's own operations."""

    rules: ClassVar[Rules] = RULES

    def __init__(self, graph: Graph, mode: str, prefix: str = "", backend: str = "") -> None:
        self.graph = graph
        self.mode = mode
        self.prefix = prefix
        self.backend = backend
        self.orders = feature_orders(graph)
        self.variables = self._variables()
        self.shared = shared_nodes(graph)
        self.bodies: List[str] = []  # the functions that make the steps of scans

    def _variables(self) -> Dict[str, str]:
        """A tensor that only the next node reads is called x; the others have their own names."""
        readers: Dict[str, List[int]] = {}
        for position, node in enumerate(self.graph.nodes):
            for tensor in node.inputs:
                readers.setdefault(tensor, []).append(position)
        kept = set(self.graph.outputs) | {term.prediction for term in self.graph.losses}
        names, taken = {}, set(helpers(self.backend))  # type: Dict[str, str], Set[str]
        passing = {node.outputs[0] for position, node in enumerate(self.graph.nodes)
                   if len(node.outputs) == 1 and node.outputs[0] not in kept
                   and readers.get(node.outputs[0]) == [position + 1]}
        for tensor in self.graph.specs:
            word = "x" if tensor in passing else identifier(tensor)
            while word in taken:
                word += "_"
            taken.update({word} - {"x"})
            names[tensor] = word
        return names

    def input_lines(self) -> List[str]:
        """One Input per graph input; floating types are left to Keras' global setting."""
        return ["{} = {}".format(self.variables[name], call(
            "keras.Input", native_shape(spec), dtype=None if spec.dtype.startswith("float") else spec.dtype,
            name=self.prefix + name)) for name, spec in self.graph.inputs]

    def node_lines(self) -> List[str]:
        lines, scope = [], ""
        for node in self.graph.nodes:
            here = node.name.rpartition(".")[0]
            lines += [""] if here != scope else []
            scope = here
            lines += self._node(node)
        return lines

    def _node(self, node: Node) -> List[str]:
        if type(node.layer) not in self.rules:
            raise Unsupported("{}: Keras has no {} here".format(node.name, type(node.layer).__name__))
        use = Use(self.graph, node, layer_name(self.prefix + node.name, self.backend), self.mode, self.backend)
        use.transposed = isinstance(node.layer, layers.Flatten) and node.outputs[0] not in self.orders and reorders(
            use.spec)
        expressions = self.expressions(use) if owns(node) else [self._tied(use)]
        if isinstance(node.layer, layers.Scan):
            self.bodies.append(self._step(use))
        lines = []
        if node.name in self.shared:  # named, to be used again
            made, _, arguments = expressions[-1].rpartition("(")
            lines.append("{} = {}".format(identifier(node.name + ".layer"), made))
            expressions[-1] = "{}({}".format(identifier(node.name + ".layer"), arguments)
        target = ", ".join(self.variables[name] for name in node.outputs)
        values = [self.variables[name] for name in node.inputs]
        for expression in expressions:
            lines.append("{} = {}".format(target, expression.format(*values)))
            values = [target]
        return lines

    def expressions(self, use: Use) -> Printed:
        """How the layer is written."""
        return self.rules[type(use.layer)](use)

    def _tied(self, use: Use) -> str:
        """A use of weights that another layer owns."""
        sources = {name.rpartition(".")[0] for own, name in use.node.parameters
                   if name != "{}.{}".format(use.node.name, own)}
        source = next((node for node in self.graph.nodes if {node.name} == sources), None)
        if source is None:
            raise Unsupported("{}: shares weights with {}".format(use.name, " and ".join(sorted(sources))))
        made = identifier(source.name + ".layer")
        if source.layer == use.layer and all(name.rpartition(".")[0] == source.name for _, name in use.node.parameters):
            return made + "({0})"
        if isinstance(source.layer, (layers.Embedding, layers.Linear)) and isinstance(use.layer, layers.Linear):
            return "TiedDense({}, {}, use_bias={}, name={})({{0}})".format(
                use.layer.features, made, use.layer.bias, show(use.name))
        raise Unsupported("{} ({}) cannot share a part of {} ({}) in Keras".format(
            use.name, type(use.layer).__name__, source.name, type(source.layer).__name__))

    def _step(self, use: Use) -> str:
        body = type(self)(use.layer.body, self.mode, use.name + ".", self.backend)
        tensors = ["[{}]".format(", ".join(body.variables[name] for name in names))
                   for names in ([name for name, _ in use.layer.body.inputs], use.layer.body.outputs)]
        lines = body.input_lines() + body.node_lines() + ["return keras.Model({}, {})".format(*tensors)]
        return "".join(body.bodies) + function(identifier(use.name + ".step"), [], lines)


def function(name: str, arguments: Sequence[str], lines: Sequence[str], decorator: str = "") -> str:
    body = "\n".join("    " + line if line else "" for line in lines)
    return "\n{}def {}({}):\n{}\n".format(decorator + "\n" if decorator else "", name, ", ".join(arguments), body)


def _loss(term: Loss, target: str, mode: str) -> str:
    kind = type(term.layer)
    if kind not in losses.LOSSES:
        raise Unsupported("the loss {} has no Keras form here".format(kind.__name__))
    written = losses.COMPILED[kind] if mode == "xla" and kind in losses.COMPILED else losses.LOSSES[kind]
    each = written(term.layer, target, "outputs[{}]".format(show(term.prediction)))
    return ("" if term.weight == 1 else "{!r} * ".format(term.weight)) + "tf.reduce_mean({})".format(each)


def _all_reached(graph: Graph, wanted: Set[str]) -> bool:
    """True if every parameter surely has a part in one of the tensors wanted."""
    wanted = set(wanted)
    for node in reversed(graph.nodes):
        used = wanted.intersection(node.outputs)
        if node.parameters and not used:
            return False
        if isinstance(node.layer, layers.Scan):
            body = node.layer.body
            if not _all_reached(body, {inner for inner, outer in zip(body.outputs, node.outputs) if outer in used}):
                return False
        wanted.update(node.inputs if used else ())
    return True


def _gradients(graph: Graph) -> List[str]:
    if _all_reached(graph, {term.prediction for term in graph.losses}):
        return ["gradients = tape.gradient(loss, model.trainable_variables)"]
    return ["values = [variable.value for variable in model.trainable_variables]  # not all have a part in the loss",
            "gradients = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)"]


class Module:
    """What every printed module has: the function that builds the model, the names by which steps call it, and above it
    the helpers and imports that the text turns out to need."""

    imports: Tuple[Tuple[str, str], ...] = IMPORTS
    writes: ClassVar[Type[Writer]] = Writer

    def __init__(self, graph: Graph, mode: str, shipped: str = "", backend: str = "") -> None:
        self.graph = graph
        self.backend = backend
        self.writer = self.writes(graph, mode, backend=backend)
        of = self.writer.variables
        self.inputs = [of[name] for name, _ in graph.inputs]
        self.targets = [of[name] for name, _ in graph.targets]
        self.argument = self.inputs[0] if len(self.inputs) == 1 else "[{}]".format(", ".join(self.inputs))
        only_training = {name for node in graph.nodes if node.training_only for name in node.outputs}
        self.wanted = wanted = list(dict.fromkeys(graph.outputs + tuple(term.prediction for term in graph.losses)))
        self.inferred = inferred = [name for name in graph.outputs if name not in only_training]
        split = set(wanted) != set(inferred)  # inference leaves something out
        lines = self.writer.input_lines() + self.writer.node_lines()
        lines += (["training = " + self._model(wanted), "inference = " + self._model(inferred),
                   "return training, inference"] if split else ["return " + self._model(wanted)])
        if shipped:
            output = "{{{}: shipped.output}}".format(show(graph.outputs[0]))
            split, lines = False, ["shipped = " + shipped, "return keras.Model(shipped.input, {})".format(output)]
        self.inference = "inference" if split else "model"
        self.parts = [function("build", [], lines),
                      "\n{} = build()\n".format("model, inference" if split else "model")]

    def _model(self, names: Sequence[str]) -> str:
        outputs = ", ".join("{}: {}".format(show(name), self.writer.variables[name]) for name in names)
        return "keras.Model({}, {{{}}})".format(self.argument, outputs)

    def helpers(self) -> Dict[str, str]:
        """What may be printed above, by name."""
        return helpers(self.backend)

    def text(self, title: str, before: str = "") -> str:
        """The whole module; `before` stands above the imports."""
        text = "\n".join(self.writer.bodies + self.parts)
        above = "\n".join(code for name, code in self.helpers().items() if re.search(r"\b{}\(".format(name), text))
        imports = "\n".join(line for use, line in self.imports if use in above + text)
        return '"""{}, printed by Photofinish."""\n\n{}{}\n\nGRAPH = "{}"\n\n{}{}'.format(
            title, before, imports, self.graph.digest, above + "\n" if above else "", text)


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, mode: str = "graph", shipped: str = "") -> str:
    """A module with `model` and `infer`; `loss_of` where the graph has a loss; `optimizer` and `train_step`
    unless the optimizer is None. `shipped` is the code of another model of one input and one output, to stand in its
    place. Raises Unsupported, naming the layer.
    """
    module = Module(graph, mode, shipped)
    options = MODES[mode]
    decorator = "" if options is None else call("@tf.function", **options).replace("()", "")
    if graph.losses:
        module.parts.append(function("loss_of", ["outputs"] + module.targets, ["return " + " + ".join(
            _loss(term, module.writer.variables[term.target], mode) for term in graph.losses)]))
    if graph.losses and optimizer is not None:
        module.parts.append("\noptimizer = {}\noptimizer.build(model.trainable_variables)\n".format(
            optimizers.written(optimizer)))
        module.parts.append(function("train_step", module.inputs + module.targets, [
            "with tf.GradientTape() as tape:",
            "    loss = loss_of(model({}, training=True), {})".format(module.argument, ", ".join(module.targets)),
            *_gradients(graph),
            "optimizer.apply(gradients, model.trainable_variables)",
            "return loss"], decorator))
    module.parts.append(function("infer", module.inputs, ["return {}({}, training=False)".format(
        module.inference, module.argument)], decorator))
    return module.text("A Keras model and its training step")
