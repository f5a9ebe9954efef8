"""A graph as Paddle source: nested nn.Layer classes with a straight-line forward, as a person would write them.

Needs no Paddle: see ../paddle.py for what runs it.
"""

import re
from collections import OrderedDict
from typing import Dict

from photofinish import layers
from photofinish.frameworks._common.modules import ModuleWriter, Native, Place, native_name, training_loss
from photofinish.frameworks._paddle import recurrent
from photofinish.frameworks._paddle.dense import tied_linear
from photofinish.frameworks._paddle.table import HELPERS, LOSSES, RULES
from photofinish.graph import Graph, Node

RESERVED = re.compile("""
    (F|nn|self|paddle|training|step|forward|backward|float|float16|bfloat16|double|half|to|astype|type|train|eval|apply
    |full_name|children|parameters|buffers|sublayers|named_\\w+|(add|create|get|set|register|load)_\\w+|state_dict
    |clear_gradients|extra_repr|name|dtype)$""", re.VERBOSE)
STATE = {"running_mean": "_mean", "running_variance": "_variance"}  # what nn.BatchNorm calls its buffers


def spelled(name: str) -> str:
    """A name of the graph as an attribute of nn.Layer, or an argument."""
    return native_name(name, RESERVED)


class LayerWriter(ModuleWriter):
    """Writes one graph in classes."""

    taken = {"Model", "F"} | set(HELPERS)
    title = "Paddle"
    module = "nn.Layer"
    rules = RULES
    step_loop = ("outputs = []",
                 "for x in paddle.unbind(sequence, 1):",
                 "    carry, y = self.step(carry, x)",
                 "    outputs.append(y)",
                 "return carry, paddle.stack(outputs, 1)")

    def attribute(self, name: str) -> str:
        return spelled(name)

    def native(self, node: Node) -> Native:
        if self._tied(node):
            return tied_linear(node.layer, *self.graph.input_specs(node))  # type: ignore[arg-type]
        return super().native(node)

    def place(self, node: Node, own: str) -> Place:
        path, order = STATE.get(own, spelled(own)), None
        if isinstance(node.layer, layers.Recurrent):
            path, order = recurrent.path(node, own), recurrent.order(node)
        scope = ".".join(map(spelled, node.name.split(".")))
        if isinstance(node.layer, layers.Scan):  # whose parameters are those of its body
            return self._inside(node, own)._replace(path="{}.{}".format(scope, self._inside(node, own).path))
        turned = isinstance(node.layer, layers.Linear) and own == "weight" and not self._tied(node)
        return Place("{}.{}".format(scope, path), turned, order)

    def _inside(self, node: Node, own: str) -> Place:
        body = node.layer.body  # type: ignore[attr-defined]
        return LayerWriter(body, {}).places()[own]

    def _tied(self, node: Node) -> bool:
        """Whether it is a linear layer with a table of embeddings for its weight."""
        tables = {name for each in self.graph.nodes for own, name in each.parameters
                  if isinstance(each.layer, (layers.Embedding, layers.EmbeddingBag))}
        return isinstance(node.layer, layers.Linear) and dict(node.parameters)["weight"] in tables


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
    writer = LayerWriter(graph, OrderedDict())
    parts = writer.classes(OrderedDict((name, spelled(name)) for name, _ in graph.inputs))
    parts += [training_loss(graph, LOSSES, spelled)] if graph.losses else []
    helpers = [text for name, text in HELPERS.items() if any(name + "(" in part for part in parts)]
    batch = ", ".join(spelled(name) for name, _ in graph.inputs + graph.targets)
    head = SOURCE.format(digest=graph.digest, batch=batch)
    return "\n\n".join([head] + helpers + parts)


def places(graph: Graph) -> Dict[str, Place]:
    """Where Model keeps every parameter and state of the graph."""
    return LayerWriter(graph, OrderedDict()).places()
