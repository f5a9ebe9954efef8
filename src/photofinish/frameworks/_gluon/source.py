"""A graph as Gluon source: nested HybridBlock classes with a straight-line forward, as a person would write them.

The blocks have the graph's own names. Needs no MXNet: see ../mxnet.py for what runs it.
"""

from typing import Callable, Dict, List, Sequence

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import owns
from photofinish.frameworks._common.classes import ClassWriter, module
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.forward import SPARE, Native, Step
from photofinish.frameworks._common.scopes import objective, owner, predictions
from photofinish.frameworks._gluon.dense import TIED
from photofinish.frameworks._gluon.weights import native_name, native_path
from photofinish.graph import Graph, Node

RULES, LOSSES, HELPERS = (gathered("_gluon", table) for table in ("RULES", "LOSSES", "HELPERS"))


class BlockWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"F", "Model", "TrainingLoss"} | set(HELPERS)
    title = "MXNet"
    rules = RULES
    loop = ("outputs = []",
            "for x in steps(F, sequence, {length}):",
            "    carry, y = self.step(F, carry, x)",
            "    outputs.append(y)",
            "return carry, F.stack(*outputs, axis=1)")
    call = "hybrid_forward"
    given = ("self", "F")
    training = "autograd.is_training()"  # true of a graph, too, that is made for training

    def steps(self, nodes: Sequence[Node], depth: int) -> List[Step]:
        """As anywhere, but nothing is spare: what autograd has seen may not be overwritten."""
        return [step._replace(kind=layers.Layer) if step.kind in SPARE else step
                for step in super().steps(nodes, depth)]

    def lines(self, steps: Sequence[Step], inputs: Dict[str, str], outputs: Sequence[str], depth: int) -> List[str]:
        """As anywhere, but what only training has is left out, for None cannot be in a hybridized block's graph."""
        lines = super().lines(steps, inputs, outputs, depth)
        missing = {name for node in self.graph.nodes if node.training_only for name in node.outputs}
        if depth == 0 and len(outputs) > 1 and missing & set(outputs):
            lines[-1] = "return tuple(each for each in ({}) if each is not None)".format(lines[-1][len("return "):])
        return lines

    def ties(self) -> List[str]:
        """Raises Unsupported for layers that cannot take another's weight."""
        lines = []
        for node in self.graph.nodes:
            for own, shared in node.parameters:
                if shared != node.name + "." + own:
                    if own != "weight" or type(node.layer) not in TIED:
                        raise Unsupported("{} ({}) cannot share the {} of another layer in MXNet".format(
                            node.name, type(node.layer).__name__, own))
                    lines.append("self.{}.weight = self.{}.weight".format(
                        native_path(node.name), native_path(owner(self.graph, node).name)))
        return lines

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ruled(self, node: Node) -> Native:
        found, kind = super().ruled(node), type(node.layer)
        return found if owns(node) or kind not in TIED else found._replace(module=TIED[kind](node.layer))


LOSS = '''\
class TrainingLoss(gluon.HybridBlock):
    """The model and its loss as one block; with `outputs`, what the loss was computed from, too."""

    def __init__(self, model, outputs=False):
        super().__init__()
        self.model = model
        self.outputs = outputs

    def hybrid_forward(self, F, {batch}):
        {predictions} = self.model({inputs})
        loss = {objective}
        return (loss, {outputs}) if self.outputs else loss
'''


def training_loss(graph: Graph, losses: Dict[type, Callable[..., str]], spell: Callable[[str], str]) -> str:
    named = predictions(graph)
    inputs, targets = ([spell(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    return LOSS.format(batch=", ".join(inputs + targets), predictions=", ".join(named.values()),
                       inputs=", ".join(inputs), objective=objective(graph, losses, named, spell),
                       outputs=", ".join(named[name] for name in graph.outputs))


IMPORTS = (("mx.", "import mxnet as mx"), ("np.", "import numpy as np"),
           ("", "from mxnet import autograd, gluon"), ("nn.", "from mxnet.gluon import nn"),
           ("rnn.", "from mxnet.gluon import rnn"))
HEAD = '''\
"""To train:

    model = Model()
    model.initialize()
    training_loss = TrainingLoss(model)
    training_loss.hybridize(static_alloc=True, static_shape=True)
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    for {batch} in batches:
        with autograd.record():
            loss = training_loss({batch})
        loss.backward()
        trainer.step(1)

Mode "imperative" leaves out hybridize. Masks are 1 and 0 in float32.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the class TrainingLoss. Raises Unsupported, naming
    the layer."""
    return module(graph, BlockWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD, "gluon.HybridBlock", training_loss)
