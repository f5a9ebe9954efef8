"""A graph as CNTK source: nested classes whose call adds to a symbolic graph, as a person would write them.

The objects have the graph's own names. Needs no CNTK: see ../cntk.py for what runs it.
"""

from typing import List

from photofinish.frameworks._cntk.native import native_name, native_path, paths
from photofinish.frameworks._common.classes import ClassWriter, module, shared
from photofinish.frameworks._common.families import gathered
from photofinish.graph import Graph

RULES, LOSSES, HELPERS = (gathered("_cntk", table) for table in ("RULES", "LOSSES", "HELPERS"))


class LayerWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"C", "Layer", "Model"} | set(HELPERS)
    title = "CNTK"
    rules = RULES
    loop = ("outputs = []",
            "for i in range({length}):",
            "    carry, y = self.step(carry, row(sequence, i))",
            "    outputs.append(y)",
            "return carry, stacked(*outputs)")
    begin = ()
    training = "Layer.training"

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ties(self) -> List[str]:
        return shared(self.graph, native_path, paths(self.graph))


IMPORTS = (("C.", "import cntk as C"), ("np.", "import numpy as np"))
HEAD = '''\
"""To train:

    model, Layer.training = Model(), True
    loss, output = training_loss(model, {batch})  # of C.input_variable((3, 32, 32)), or whatever shape one has
    rate, momentum = (C.learning_parameter_schedule(each) for each in (0.01, 0.9))
    learner = C.momentum_sgd(loss.parameters, rate, momentum, unit_gain=False)
    trainer = C.Trainer(output, (loss, None), [learner])
    trainer.train_minibatch({batch})  # as a dictionary of arrays
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"


class Layer:
    """What all scopes know: whether the graph that is being made is for training, and the samples of a minibatch."""

    training, batch = False, 1
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the function training_loss. Raises Unsupported,
    naming the layer."""
    return module(graph, LayerWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD, "Layer")
