"""A graph as plain JAX source: a function per scope, of dictionaries of parameters and statistics.

The dictionaries are nested by the graph's own names. Needs no JAX: see ../jax.py for what runs it.
"""

from collections import OrderedDict
from typing import Any, Dict, List, Optional, Sequence, Set

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import feature_orders, owns
from photofinish.frameworks._common.forward import VARIABLES, Forward, Native
from photofinish.frameworks._common.scopes import (
    Writer,
    function,
    objective,
    owner,
    predictions,
    returned,
    slots,
    snake,
)
from photofinish.frameworks._common.text import show
from photofinish.frameworks._flax import optimizers
from photofinish.frameworks._flax.source import (
    FUNCTIONS,
    LOSSES,
    PLAIN,
    PLAIN_HELPERS,
    RULES,
    argument,
    arguments,
    assembled,
    outputs,
    scan_body,
    use,
)
from photofinish.frameworks._flax.use import native_name
from photofinish.frameworks._flax.weights import Place, places
from photofinish.graph import Graph, Node
from photofinish.optimizers import Optimizer

TAKEN = {"p", "s", "keys", "key", "step", "model", "training_loss", "train_step", "infer", "initial", "count",
         "partial", "jax", "jnp", "np", "optax"}
KINDS = (layers.BatchNorm, layers.Dropout, layers.StochasticDepth)  # which training makes a difference to
NORMS = (layers.BatchNorm, layers.LayerNorm)  # whose dictionary may be empty


class PlainWriter(Writer):
    """Writes one graph in functions. A scope takes p, s and keys (parameters, statistics, and random keys in training)
    as far as its layers do."""

    def __init__(self, graph: Graph, units: Dict[str, str]) -> None:
        super().__init__(graph, units)
        self.orders = list(feature_orders(graph))
        self.taken: Set[str] = TAKEN | set(PLAIN_HELPERS) | set(VARIABLES) | set(arguments(graph, targets=True))

    def attribute(self, name: str) -> str:
        return native_name(name)

    def spell(self, parts: Sequence[str]) -> str:
        return snake(parts)

    def native(self, node: Node) -> Native:
        found = use(self.graph, node, self.orders)
        unit = self._scan(node) if isinstance(node.layer, layers.Scan) else ""
        if type(node.layer) not in FUNCTIONS:
            return RULES[type(node.layer)](found)
        part = '["{}"]'.format(native_name(node.name.split(".")[-1]))
        text = FUNCTIONS[type(node.layer)](found)
        for word, meaning in (("{p}", "p" + part), ("{s}", "s" + part), ("{keys}", "keys"), ("{unit}", unit)):
            text = text.replace(word, meaning)
        return Native(text)

    def ties(self) -> List[str]:
        """The statements that share weights, in a copy of the dictionaries."""
        lines = []
        for node in self.graph.nodes:
            if not owns(node):
                source = owner(self.graph, node)
                there, here = (self._array(each) for each in (source, node))
                lines.append("{} = {}{}".format(
                    here, there, "" if there.endswith(here[here.rindex("["):]) else ".T"))
        return ["p = jax.tree.map(lambda array: array, p)  # to tie weights in"] + lines if lines else []

    def _array(self, node: Node) -> str:
        """How the weight of a layer that can share it is spelled."""
        kinds = {layers.Linear: "kernel", layers.Embedding: "embedding"}
        if type(node.layer) not in kinds:
            raise Unsupported("{} ({}) cannot share its weight".format(node.name, type(node.layer).__name__))
        path = [native_name(part) for part in node.name.split(".")] + [kinds[type(node.layer)]]
        return "p" + "".join('["{}"]'.format(part) for part in path)

    def whole(self) -> str:
        """The function of the whole graph."""
        inputs = OrderedDict((name, argument(name)) for name, _ in self.graph.inputs)
        lines = self.ties() + self._lines(self.graph.nodes, inputs, returned(self.graph), 0)
        return function("model", ["p", "s", "keys"] + list(inputs.values()), [DOCSTRING] + lines)

    def body(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> str:
        return "({}):\n".format(", ".join(_needs(nodes) + list(inputs.values()))) + "".join(
            "    {}\n".format(line) for line in self._lines(nodes, inputs, outputs, depth))

    def _lines(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> List[str]:
        return Forward(self.steps(nodes, depth), inputs, outputs, "keys is not None").lines

    def entered(self, unit: str, nodes: Sequence[Node], attribute: str, inputs: int) -> Native:
        part = '["{}"]'.format(attribute)
        given = ["keys" if each == "keys" else each + part for each in _needs(nodes)]
        return Native("{}({})".format(unit, ", ".join(given + ([slots(inputs)] if inputs else []))))

    def _scan(self, node: Node) -> str:
        """The function of a loop over time."""
        body = scan_body(node)
        inner = PlainWriter(body, self.units)
        inner.taken |= self.taken
        names = dict(zip((name for name, _ in body.inputs), ("carry", "x")))
        step = function("step", ["carry", "x"], inner._lines(body.nodes, names, returned(body), 0)).splitlines()
        text = function("", ["p", "carry", "sequence"], inner.ties() + step + [
            "", "carry, outputs = jax.lax.scan(step, carry, sequence.swapaxes(0, 1))",
            "return carry, outputs.swapaxes(0, 1)"])
        return self.name_of(node.name.split("."), text[len("def "):])


def _needs(nodes: Sequence[Node]) -> List[str]:
    """What the layers of a scope take beside their inputs."""
    training = any(isinstance(node.layer, KINDS) for node in nodes) or (
        len({node.training_only for node in nodes}) > 1)
    return [word for word, needed in (("p", any(node.parameters or isinstance(node.layer, NORMS) for node in nodes)),
                                      ("s", any(node.state for node in nodes)), ("keys", training)) if needed]


def nested(found: Dict[str, Place], group: str) -> Dict[str, Any]:
    """The shapes of the parameters, or of the statistics, as the dictionaries that the code takes."""
    tree: Dict[str, Any] = {}
    for name, place in found.items():
        if name.startswith(group + "/"):
            inside = tree
            for part in place.path[:-1]:
                inside = inside.setdefault(part, {})
            inside[place.path[-1]] = place.shape
    return tree


def _filled(graph: Graph, tree: Dict[str, Any]) -> Dict[str, Any]:
    """With an empty dictionary for each layer that takes one and has no weights, or none but shared ones."""
    for node in graph.nodes:
        if not owns(node) or isinstance(node.layer, NORMS):
            inside = tree
            for part in node.name.split("."):
                inside = inside.setdefault(native_name(part), {})
    return tree


def _shown(tree: Dict[str, Any], depth: int = 0) -> str:
    """Nested dictionaries as text; the innermost in one line, where they fit."""
    inside = ["{}: {}".format(show(name), _shown(value, depth + 1) if isinstance(value, dict) else repr(value))
              for name, value in tree.items()]
    line = "{" + ", ".join(inside) + "}"
    if not any(isinstance(value, dict) for value in tree.values()) and len(line) < 100:
        return line
    pad = "    " * (depth + 1)
    return "{\n" + "".join("{}{},\n".format(pad, each) for each in inside) + "    " * depth + "}"


DOCSTRING = '"""Of parameters p, statistics s (which training puts anew) and random keys, None in inference."""'

HEAD = '''\
"""To train:

    weights = initial(jax.random.key(0))
    memory = OPTIMIZER.init(weights["parameters"])
    for {batch} in batches:
        loss, weights, memory = train_step(weights, memory, {batch})

Images are laid out with their channels last.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''

INFERENCE_HEAD = '''\
"""To infer:

    output = infer(initial(jax.random.key(0)), {batch})

Images are laid out with their channels last.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''

INITIAL = '''\
def initial(key):
    """Kernels are normal, of a variance of one over the values that a sum of theirs has; so are tables and vectors."""
    numbers = count()

    def draw(path, shape):
        name = path[-1].key
        if name in ("bias", "mean", "scale", "var"):
            return jnp.full(shape, float(name in ("scale", "var")))
        deviation = np.prod(shape[:-1]) ** -0.5 if name == "kernel" else 1.0 if name == "embedding" else 0.02
        return deviation * jax.random.normal(jax.random.fold_in(key, next(numbers)), shape)

    parameters, statistics = (jax.tree_util.tree_map_with_path(draw, shapes, is_leaf=lambda each: type(each) is tuple)
                              for shapes in (PARAMETERS, STATISTICS))
    return {"parameters": parameters, "statistics": statistics, "key": key}
'''

INFER = '''\
@jax.jit
def infer(weights, {inputs}):
    return model(weights["parameters"], weights["statistics"], None, {inputs})
'''

STEP = '''\
OPTIMIZER = {optimizer}


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(weights, memory, {batch}):
    key, used = jax.random.split(weights["key"])
    (loss, (_, statistics)), gradients = jax.value_and_grad(training_loss, has_aux=True)(
        weights["parameters"], weights["statistics"], used, {batch})
    updates, memory = OPTIMIZER.update(gradients, memory, weights["parameters"])
    parameters = optax.apply_updates(weights["parameters"], updates)
    return loss, {{"parameters": parameters, "statistics": statistics, "key": key}}, memory
'''


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN) -> str:
    """A module with the function model; where the graph has a loss, with training_loss and (unless the optimizer is
    None) train_step. Raises Unsupported, naming the layer."""
    units: Dict[str, str] = OrderedDict()
    whole = PlainWriter(graph, units).whole()
    found = places(graph)
    parts = ["PARAMETERS = {}\nSTATISTICS = {}\n".format(
        _shown(_filled(graph, nested(found, "parameter"))), _shown(nested(found, "state"))), INITIAL]
    parts += ["def {}{}".format(name, text) for text, name in units.items()] + [whole]
    inputs, batch = ", ".join(arguments(graph)), ", ".join(arguments(graph, targets=True))
    if graph.losses:
        named = predictions(graph)
        keys = max(1, sum(node.layer.random for node in graph.nodes))
        parts.append(function("training_loss", ["p", "s", "key"] + arguments(graph, targets=True), [
            '"""The loss, the outputs it was computed from, and what the statistics become."""',
            "s = jax.tree.map(lambda array: array, s)  # a copy of the dictionaries, to put them in",
            "{} = model(p, s, iter(jax.random.split(key, {})), {})".format(", ".join(named.values()), keys, inputs),
            "return {}, ({}, s)".format(objective(graph, LOSSES, named, argument), outputs(graph))]))
    trains = bool(graph.losses) and optimizer is not None
    if trains and optimizer is not None:
        parts.append(STEP.format(batch=batch, optimizer=optimizers.written(optimizer)))
    parts.append(INFER.format(inputs=inputs))
    head = HEAD if trains else INFERENCE_HEAD
    return assembled(head.replace("{digest}", graph.digest).replace("{batch}", batch if trains else inputs),
                     PLAIN_HELPERS, parts)

