"""A graph as MLX source: nested nn.Module classes with a straight-line call, as a person would write them.

The modules have the graph's own names. Needs no MLX: see ../mlx.py for what runs it.
"""

from typing import Dict, List

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import feature_orders, owns, reorders
from photofinish.frameworks._common.classes import ClassWriter, module
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import owner
from photofinish.frameworks._common.text import call
from photofinish.frameworks._mlx.use import Rules, Use, native_name
from photofinish.frameworks._mlx.weights import native_path
from photofinish.graph import Graph, Node

LOSSES, HELPERS = (gathered("_mlx", table) for table in ("LOSSES", "HELPERS"))
RULES: Rules = gathered("_mlx", "RULES")

IMPORTS = (("@lru_cache", "from functools import lru_cache\n"), ("mx.", "import mlx.core as mx"),
           ("nn.", "import mlx.nn as nn"), ("np.", "import numpy as np"))


class ModuleWriter(ClassWriter):
    """Writes one graph in modules."""

    taken = {"Model"} | set(HELPERS)
    title = "MLX"
    rules = RULES
    loop = ("outputs = []",
            "for t in range(sequence.shape[1]):",
            "    carry, y = self.step(carry, sequence[:, t])",
            "    outputs.append(y)",
            "return carry, mx.stack(outputs, axis=1)")

    def __init__(self, graph: Graph, units: Dict[str, str]) -> None:
        super().__init__(graph, units)
        self.orders = feature_orders(graph)

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ruled(self, node: Node) -> Native:
        if not owns(node):
            return self._tied(node)
        transposed = (isinstance(node.layer, layers.Flatten) and node.outputs[0] not in self.orders
                      and reorders(self.graph.spec(node.inputs[0])))
        return RULES[type(node.layer)](Use(self.graph, node, transposed))

    def _tied(self, node: Node) -> Native:
        """What uses another module's weight. Raises Unsupported for other layers than these."""
        source, kinds = owner(self.graph, node), (layers.Linear, layers.Embedding)
        if not isinstance(node.layer, kinds) or not isinstance(source.layer, kinds):
            raise Unsupported("{} ({}) cannot share the weight of {} ({}) in MLX".format(
                node.name, type(node.layer).__name__, source.name, type(source.layer).__name__))
        if isinstance(node.layer, layers.Embedding):
            return Native("{self}({0})", "TiedEmbedding()")
        return Native("{self}({0})", call("TiedLinear", node.layer.features, bias=None if node.layer.bias else False))

    def ties(self) -> List[str]:
        return ["self.{}._source = self.{}".format(*(".".join(native_path(each.name))
                                                     for each in (node, owner(self.graph, node))))
                for node in self.graph.nodes if not owns(node)]


HEAD = '''\
"""To train:

    model, optimizer = Model(), optim.SGD(0.01, momentum=0.9)  # of mlx.optimizers
    step = nn.value_and_grad(model, training_loss)
    for {batch} in batches:
        (loss, _), gradients = step(model, {batch})
        optimizer.update(model, gradients)
        mx.eval(loss, model.state, optimizer.state)

Mode "compile" puts the two lines of the step, and the model's call, through mx.compile. Images are laid out with their
channels last.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the function training_loss. Raises Unsupported,
    naming the layer."""
    return module(graph, ModuleWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD, "nn.Module")
