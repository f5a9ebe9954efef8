"""A graph as Chainer source: nested Chain classes with a straight-line forward, as a person would write them.

The links have the graph's own names. Needs no Chainer: see ../chainer.py for what runs it.
"""

from typing import List, Sequence

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._chainer.weights import native_name, native_path
from photofinish.frameworks._common.classes import ClassWriter, module
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import owner
from photofinish.graph import Graph, Node

RULES, LOSSES, HELPERS = (gathered("_chainer", table) for table in ("RULES", "LOSSES", "HELPERS"))

TIED = (layers.Linear, layers.Embedding)  # what may take another's weight, and give it


class ChainWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"F", "L", "Model"} | set(HELPERS)
    title = "Chainer"
    rules = RULES
    loop = ("outputs = []",
            "for x in F.separate(sequence, axis=1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, F.stack(outputs, axis=1)")
    call = "forward"
    training = "chainer.config.train"

    def constructed(self, made: Sequence[str]) -> List[str]:
        """Links become a chain's where they are set within its scope."""
        return ["with self.init_scope():"] + ["    " + line for line in made]

    def ties(self) -> List[str]:
        """Raises Unsupported for layers that cannot take another's weight."""
        lines = []
        for node in self.graph.nodes:
            for own, shared in node.parameters:
                if shared != node.name + "." + own:
                    source = owner(self.graph, node)
                    if own != "weight" or type(node.layer) not in TIED or type(source.layer) not in TIED:
                        raise Unsupported("{} ({}) cannot share the {} of {} ({}) in Chainer".format(
                            node.name, type(node.layer).__name__, own, source.name, type(source.layer).__name__))
                    lines.append("tie(self.{}, self.{})".format(native_path(node.name), native_path(source.name)))
        return lines

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ruled(self, node: Node) -> Native:
        found = super().ruled(node)
        if isinstance(node.layer, layers.ConvTranspose) and node.inputs[0] in dict(self.graph.inputs):
            # Deconvolution's backward fails in Chainer 7.8.1 where its input needs no gradient
            return found._replace(call=found.call.replace("{0}", "chainer.Variable({0})"))
        return found


IMPORTS = (("chainer.", "import chainer"), ("F.", "import chainer.functions as F"), ("L.", "import chainer.links as L"),
           ("np.", "import numpy as np"))
HEAD = '''\
"""To train:

    model = Model()
    optimizer = chainer.optimizers.MomentumSGD(lr=0.01, momentum=0.9).setup(model)
    for {batch} in batches:
        model.cleargrads()
        loss, _ = training_loss(model, {batch})
        loss.backward()
        optimizer.update()
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the function training_loss. Raises Unsupported,
    naming the layer."""
    return module(graph, ChainWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD, "chainer.Chain")
