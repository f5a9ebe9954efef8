"""Keras code for a graph, as text: what `show --as keras` prints and what ../tensorflow.py executes."""

import re
from typing import Any, Dict, List, Optional, Sequence, Set

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported, flattened_order
from photofinish.frameworks._keras import losses, optimizers
from photofinish.frameworks._keras.table import HELPERS, RULES
from photofinish.frameworks._keras.use import Use, call, identifier, native_axes, native_shape, show
from photofinish.graph import Graph, Loss, Node
from photofinish.optimizers import SGD, Optimizer

# tf.function's options by mode; None: plain eager Python
MODES: Dict[str, Optional[Dict[str, Any]]] = {"eager": None, "graph": {}, "xla": {"jit_compile": True}}
PLAIN = SGD()
IMPORTS = (("keras.", "import keras"), ("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"),
           ("layers.", "from keras import layers"), ("ops.", "from keras import ops"))


def feature_orders(graph: Graph) -> Dict[str, np.ndarray]:
    """Tensors whose features lie in another order than the canonical one, because an image was flattened
    channels last: native feature i is canonical feature order[i]. Absent: the canonical order.

    Only layers whose parameters can be permuted instead may see such a tensor: where another one would (a Slice),
    the flattened image is transposed first (`Writer` prints a Permute) and the tensor is not in here.
    """
    fixed = {term.prediction for term in graph.losses}  # labels count classes
    shared = shared_nodes(graph)
    for node in reversed(graph.nodes):
        own = node.layer.parameters(*graph.input_specs(node))
        follows = isinstance(node.layer, (layers.Elementwise, layers.BatchNorm, layers.Flatten)) and all(
            each.feature_axis is not None for each in own)
        permutable = isinstance(node.layer, layers.Linear) and owns(node) and node.name not in shared
        if not (follows or permutable) or (follows and node.outputs[0] in fixed):
            fixed.update(node.inputs)
    orders: Dict[str, np.ndarray] = {}
    for node in graph.nodes:
        (tensor, spec), target = (node.inputs[0], graph.spec(node.inputs[0])), node.outputs[0]
        if isinstance(node.layer, layers.Flatten) and len(spec.axes) > 1:
            order = flattened_order(spec.shape, spec.axes, native_axes(spec.axes))
            if target not in fixed and np.any(np.diff(order) != 1):
                orders[target] = order
        elif isinstance(node.layer, (layers.Elementwise, layers.BatchNorm, layers.Flatten)) and tensor in orders:
            orders[target] = orders[tensor]
    return orders


def owns(node: Node) -> bool:
    """True unless the node's parameters are another node's (tied weights)."""
    return all(name == "{}.{}".format(node.name, own) for own, name in node.parameters)


def shared_nodes(graph: Graph) -> Set[str]:
    """The nodes whose parameters other nodes use too."""
    return {name.rpartition(".")[0] for node in graph.nodes for own, name in node.parameters
            if name != "{}.{}".format(node.name, own)}


class Writer:
    """Prints the layers of a graph, one line each. `prefix` comes before the names of its layers."""

    def __init__(self, graph: Graph, mode: str, prefix: str = "") -> None:
        self.graph = graph
        self.mode = mode
        self.prefix = prefix
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
        names, taken = {}, set(HELPERS)  # type: Dict[str, str], Set[str]
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
        if type(node.layer) not in RULES:
            raise Unsupported("{}: Keras has no {} here".format(node.name, type(node.layer).__name__))
        use = Use(self.graph, node, self.prefix + node.name, self.mode)
        use.transposed = isinstance(node.layer, layers.Flatten) and node.outputs[0] not in self.orders and bool(
            np.any(np.diff(flattened_order(use.spec.shape, use.spec.axes, native_axes(use.spec.axes))) != 1))
        expressions = RULES[type(node.layer)](use) if owns(node) else [self._tied(use)]
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
        body = Writer(use.layer.body, self.mode, use.name + ".")
        tensors = ["[{}]".format(", ".join(body.variables[name] for name in names))
                   for names in ([name for name, _ in use.layer.body.inputs], use.layer.body.outputs)]
        lines = body.input_lines() + body.node_lines() + ["return keras.Model({}, {})".format(*tensors)]
        return "".join(body.bodies) + _function(identifier(use.name + ".step"), [], lines)


def _function(name: str, arguments: Sequence[str], lines: Sequence[str], decorator: str = "") -> str:
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


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, mode: str = "graph", shipped: str = "") -> str:
    """A module with `model` and `infer`; `loss_of` where the graph has a loss; `optimizer` and `train_step`
    unless the optimizer is None. `shipped` is the code of another model of one input and one output, to stand in its
    place. Raises Unsupported, naming the layer.
    """
    writer = Writer(graph, mode)
    of = writer.variables
    inputs = [of[name] for name, _ in graph.inputs]
    targets = [of[name] for name, _ in graph.targets]
    argument = inputs[0] if len(inputs) == 1 else "[{}]".format(", ".join(inputs))
    only_training = {name for node in graph.nodes if node.training_only for name in node.outputs}
    wanted = list(dict.fromkeys(graph.outputs + tuple(term.prediction for term in graph.losses)))
    inferred = [name for name in graph.outputs if name not in only_training]

    def keras_model(names: Sequence[str]) -> str:
        outputs = ", ".join("{}: {}".format(show(name), of[name]) for name in names)
        return "keras.Model({}, {{{}}})".format(argument, outputs)

    lines = writer.input_lines() + writer.node_lines()
    split = set(wanted) != set(inferred)  # inference leaves something out
    options = MODES[mode]
    decorator = "" if options is None else call("@tf.function", **options).replace("()", "")
    lines += (["training = " + keras_model(wanted), "inference = " + keras_model(inferred),
               "return training, inference"] if split else ["return " + keras_model(wanted)])
    if shipped:
        output = "{{{}: shipped.output}}".format(show(graph.outputs[0]))
        split, lines = False, ["shipped = " + shipped, "return keras.Model(shipped.input, {})".format(output)]
    parts = [_function("build", [], lines),
             "\n{} = build()\n".format("model, inference" if split else "model")]
    if graph.losses:
        parts.append(_function("loss_of", ["outputs"] + targets, [
            "return " + " + ".join(_loss(term, of[term.target], mode) for term in graph.losses)]))
    if graph.losses and optimizer is not None:
        parts.append("\noptimizer = {}\noptimizer.build(model.trainable_variables)\n".format(
            optimizers.written(optimizer)))
        parts.append(_function("train_step", inputs + targets, [
            "with tf.GradientTape() as tape:",
            "    loss = loss_of(model({}, training=True), {})".format(argument, ", ".join(targets)),
            *_gradients(graph),
            "optimizer.apply(gradients, model.trainable_variables)",
            "return loss"], decorator))
    parts.append(_function("infer", inputs, ["return {}({}, training=False)".format(
        "inference" if split else "model", argument)], decorator))
    text = "\n".join(writer.bodies + parts)
    helpers = "\n".join(code for name, code in HELPERS.items() if re.search(r"\b{}\(".format(name), text))
    imports = "\n".join(line for use, line in IMPORTS if use in helpers + text)
    return '"""A Keras model and its training step, printed by Photofinish."""\n\n{}\n\nGRAPH = "{}"\n\n{}{}'.format(
        imports, graph.digest, helpers + "\n" if helpers else "", text)
