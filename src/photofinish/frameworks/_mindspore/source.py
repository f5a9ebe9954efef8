"""A graph as MindSpore source: nested nn.Cell classes with a straight-line construct, as a person would write them.

Needs no MindSpore: see ../mindspore.py for what runs it.
"""

from typing import Callable, Dict, List

from photofinish.frameworks._common.classes import ClassWriter, module
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._common.scopes import objective, predictions
from photofinish.frameworks._mindspore.weights import native_name, ties
from photofinish.graph import Graph

RULES, LOSSES, HELPERS = (gathered("_mindspore", table) for table in ("RULES", "LOSSES", "HELPERS"))


class CellWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"Model", "TrainingLoss", "Parameter", "Tensor", "Normal"} | set(HELPERS)
    title = "MindSpore"
    rules = RULES
    loop = ("outputs = []",
            "for x in ops.unstack(sequence, 1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, ops.stack(outputs, 1)")
    call = "construct"

    def ties(self) -> List[str]:
        return ["self.{} = self.{}".format(path, first) for path, first in ties(self.graph)]

    def attribute(self, name: str) -> str:
        return native_name(name)


LOSS = '''\
class TrainingLoss(nn.Cell):
    """The loss of a model, and the outputs it was computed from."""

    def __init__(self, model):
        super().__init__(auto_prefix=False)
        self.model = model

    def construct(self, {batch}):
        {predictions} = self.model({inputs})
        return {objective}, {outputs}
'''


def training_loss(graph: Graph, losses: Dict[type, Callable[..., str]], spell: Callable[[str], str]) -> str:
    """The loss as a cell: a model that is an argument is nothing that mindspore.jit can read."""
    named = predictions(graph)
    inputs, targets = ([spell(name) for name, _ in each] for each in (graph.inputs, graph.targets))
    outputs = ", ".join(named[name] for name in graph.outputs)
    return LOSS.format(batch=", ".join(inputs + targets), predictions=", ".join(named.values()),
                       inputs=", ".join(inputs), objective=objective(graph, losses, named, spell),
                       outputs="({})".format(outputs) if len(graph.outputs) > 1 else outputs)


IMPORTS = (("ms.", "import mindspore as ms"), ("np.", "import numpy as np"),
           ("Parameter(", "from mindspore import Parameter"), ("Tensor(", "from mindspore import Tensor"),
           ("", "from mindspore import nn, ops"), ("Normal(", "from mindspore.common.initializer import Normal"),
           ("initializer(", "from mindspore.common.initializer import initializer"))
HEAD = '''\
"""To train:

    model = Model()
    optimizer = nn.Momentum(model.trainable_params(), 0.01, 0.9)
    gradients = ms.value_and_grad(TrainingLoss(model), None, optimizer.parameters, has_aux=True)
    model.set_train()
    for {batch} in batches:
        (loss, _), found = gradients({batch})
        optimizer(found)

Mode "jit" runs the last two lines in a function of mindspore.jit.
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the class TrainingLoss. Raises Unsupported, naming
    the layer."""
    return module(graph, CellWriter, LOSSES, native_name, HELPERS, IMPORTS, HEAD, "nn.Cell", training_loss)
