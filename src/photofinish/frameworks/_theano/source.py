"""A graph as Theano source: nested classes whose call adds to a symbolic graph, as a person would write them.

The objects have the graph's own names. Needs no Theano: see ../theano.py for what runs it.
"""

from typing import List

from photofinish.frameworks._common.classes import ClassWriter, module, shared
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._theano.native import native_name, native_path, paths
from photofinish.graph import Graph
from photofinish.layers import Spec

RULES, LOSSES, HELPERS = (gathered("_theano", table) for table in ("RULES", "LOSSES", "HELPERS"))


class LayerWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"Layer", "Model", "T"} | set(HELPERS)
    title = "Theano"
    rules = RULES
    loop = ("outputs = []",
            "for t in range({length}):",
            "    carry, y = self.step(carry, sequence[:, t])",
            "    outputs.append(y)",
            "return carry, T.stack(outputs, axis=1)")
    begin = ()
    training = "Layer.training"

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ties(self) -> List[str]:
        return shared(self.graph, native_path, paths(self.graph))


RANKS = ("scalar", "vector", "matrix", "tensor3", "tensor4")
KINDS = {"float32": "f", "int32": "i", "int64": "l"}
EVERY = ""  # module has this in it
IMPORTS = (("np.", "import numpy as np"), (EVERY, "import theano"), ("T.", "import theano.tensor as T"),
           ("MRG_RandomStreams(", "from theano.sandbox.rng_mrg import MRG_RandomStreams"),
           ("pool_2d(", "from theano.tensor.signal.pool import pool_2d"))
HEAD = '''\
"""To train:

    model, Layer.training = Model(), True
    {symbols}
    loss, _ = training_loss(model, {batch})
    weights = [each for each in theano.gof.graph.inputs([loss])
               if hasattr(each, "get_value") and each.dtype == "float32" and each not in Layer.updates]
    velocities = [theano.shared(np.zeros_like(each.get_value())) for each in weights]
    moved = [0.9 * old + found for old, found in zip(velocities, theano.grad(loss, weights))]
    updates = [*Layer.updates.items(), *zip(velocities, moved)]
    updates += [(each, each - 0.01 * velocity) for each, velocity in zip(weights, moved)]
    train_step = theano.function([{batch}], loss, updates=updates)
    for {batch} in batches:
        loss = train_step({batch})
"""

{imports}

theano.config.floatX = "float32"

# The digest of the graph this was written from.
GRAPH = "{digest}"


class Layer:
    """What all scopes know: whether the graph that is being made is for training, what a step of it moves besides the
    parameters, and what its random layers draw from."""

    training, updates, random = False, {}, None
'''


def _symbol(name: str, spec: Spec) -> str:
    """What stands for an array of a batch."""
    rank = 1 + len(spec.shape)
    if spec.dtype in KINDS:
        return 'T.{}{}("{}")'.format(KINDS[spec.dtype], RANKS[rank], name)
    return 'T.TensorType("{}", {})("{}")'.format(spec.dtype, (False,) * rank, name)


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the function training_loss. Raises Unsupported,
    naming the layer."""
    symbols = "\n    ".join("{} = {}".format(native_name(name), _symbol(native_name(name), spec))
                             for name, spec in graph.inputs + graph.targets)
    return module(graph, LayerWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD.replace("{symbols}", symbols),
                  "Layer")
