"""A graph as Paddle source: nested nn.Layer classes with a straight-line forward, as a person would write them.

Needs no Paddle: see ../paddle.py for what runs it.
"""

from typing import List

from photofinish import layers
from photofinish.frameworks._common.classes import ClassWriter, module
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._paddle.dense import tied_linear
from photofinish.frameworks._paddle.weights import is_table, native_name, ties
from photofinish.graph import Graph, Node

RULES, LOSSES, HELPERS = (gathered("_paddle", table) for table in ("RULES", "LOSSES", "HELPERS"))


class LayerWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"Model", "F"} | set(HELPERS)
    title = "Paddle"
    rules = RULES
    loop = ("outputs = []",
            "for x in paddle.unbind(sequence, 1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, paddle.stack(outputs, 1)")
    call = "forward"

    def ties(self) -> List[str]:
        return ["self.{} = self.{}".format(path, first) for path, first in ties(self.graph)]

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ruled(self, node: Node) -> Native:
        if isinstance(node.layer, layers.Linear) and is_table(self.graph, dict(node.parameters)["weight"]):
            return tied_linear(node.layer, *self.graph.input_specs(node))
        return super().ruled(node)


SOURCE = '''\
"""To train:

    model = Model()
    optimizer = paddle.optimizer.Momentum(0.01, 0.9, parameters=model.parameters())
    for {batch} in batches:
        loss, _ = training_loss(model, {batch})
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()

Mode "static" makes it paddle.jit.to_static(training_loss), and paddle.jit.to_static(model) for inference.
"""

import paddle
import paddle.nn.functional as F
from paddle import nn

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and the function training_loss. Raises Unsupported, naming the layer."""
    return module(graph, LayerWriter, LOSSES, native_name, HELPERS, (), SOURCE, "nn.Layer")
