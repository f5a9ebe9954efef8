"""A graph as PyTensor source: nested classes whose call adds to a symbolic graph, as a person would write them.

The objects have the graph's own names. Needs no PyTensor: see ../pytensor.py for what runs it.
"""

from typing import List

from photofinish.frameworks._common.classes import ClassWriter, module, shared
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._pytensor.native import native_name, native_path, paths
from photofinish.graph import Graph

RULES, LOSSES, HELPERS = (gathered("_pytensor", table) for table in ("RULES", "LOSSES", "HELPERS"))


class LayerWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"Layer", "Model"} | set(HELPERS)
    title = "PyTensor"
    rules = RULES
    loop = ("outputs = []",
            "for t in range({length}):",
            "    carry, y = self.step(carry, sequence[:, t])",
            "    outputs.append(y)",
            "return carry, pt.stack(outputs, axis=1)")
    begin = ()
    training = "Layer.training"

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ties(self) -> List[str]:
        return shared(self.graph, native_path, paths(self.graph))


IMPORTS = (("np.", "import numpy as np"),)
HEAD = '''\
"""To train:

    model, Layer.training = Model(), True
    symbols = [pt.tensor(dtype=each.dtype.name, shape=each.shape) for each in batches[0]]
    loss, outputs = training_loss(model, *symbols)
    weights = [each for each in pytensor.graph.traversal.graph_inputs([loss])
               if isinstance(each, pt.sharedvar.TensorSharedVariable) and each.dtype == "float32"]
    updates = {each: each - 0.01 * found for each, found in zip(weights, pytensor.grad(loss, weights))}
    train_step = pytensor.function(symbols, loss, updates={**updates, **Layer.updates}, on_unused_input="ignore")

    for {batch} in batches:
        loss = train_step({batch})
"""

{imports}
import pytensor
import pytensor.tensor as pt

pytensor.config.floatX = "float32"

# The digest of the graph this was written from.
GRAPH = "{digest}"


class Layer:
    """What all scopes know: whether the graph that is being made is for training, what a step of it moves besides the
    parameters, and what its random layers draw from."""

    training, updates, random = False, {}, pt.random.shared_rng(seed=0)
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the function training_loss. Raises Unsupported,
    naming the layer."""
    return module(graph, LayerWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD, "Layer")
