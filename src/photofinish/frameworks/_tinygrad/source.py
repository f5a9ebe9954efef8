"""A graph as tinygrad source: nested classes with a straight-line call, as a person would write them.

The objects have the graph's own names. Needs no tinygrad: see ../tinygrad.py for what runs it.
"""

import re
from typing import Dict, List, Sequence

from photofinish.frameworks._common.classes import ClassWriter, module, shared
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._tinygrad.native import native_name
from photofinish.frameworks._tinygrad.weights import native_path, paths
from photofinish.graph import Graph, Node

RULES, LOSSES, HELPERS = (gathered("_tinygrad", table) for table in ("RULES", "LOSSES", "HELPERS"))


class ObjectWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"Model", "Tensor", "TRAINING"} | set(HELPERS)
    title = "tinygrad"
    rules = RULES
    loop = ("outputs = []",
            "for t in range(sequence.shape[1]):",
            "    carry, y = self.step(carry, sequence[:, t])",
            "    outputs.append(y)",
            "return carry, Tensor.stack(*outputs, dim=1)")
    begin = ()
    training = "TRAINING"

    def attribute(self, name: str) -> str:
        return native_name(name)

    def ties(self) -> List[str]:
        return shared(self.graph, native_path, paths(self.graph))

    def _class(self, nodes: Sequence[Node], inputs: Dict[str, str], outputs: Sequence[str], depth: int,
               ties: Sequence[str] = (), method: str = "__call__") -> str:
        """`x += y` would assign to the memory of x, which the backward reads."""
        text = super()._class(nodes, inputs, outputs, depth, ties, method)
        return re.sub(r"^( *)(\w+) \+= ", r"\1\2 = \2 + ", text, flags=re.MULTILINE)


SOURCE = '''\
"""To train:

    model = Model()
    optimizer = nn.optim.SGD(nn.state.get_parameters(model), lr=0.01, momentum=0.9)

    @TinyJit
    @Context(TRAINING=1)
    def train_step({batch}):
        optimizer.zero_grad()
        loss, _ = training_loss(model, {batch})
        loss.backward()
        return loss.realize(*optimizer.schedule_step())
"""

{imports}

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''
IMPORTS = (("np.", "import numpy as np"), ("Tensor.", "from tinygrad import Tensor"),
           ("Tensor(", "from tinygrad import Tensor"), ("nn.", "from tinygrad import nn"),
           ("TRAINING", "from tinygrad.helpers import TRAINING"))


def native_source(graph: Graph) -> str:
    """A module with the class Model and, where the graph has a loss, the function training_loss. Raises Unsupported,
    naming the layer."""
    return module(graph, ObjectWriter, LOSSES, native_name, HELPERS, IMPORTS, SOURCE)
