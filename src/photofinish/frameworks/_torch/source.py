"""A graph as PyTorch source: nested nn.Module classes with a straight-line forward, as a person would write them.

The state dictionary of `Model` has the graph's own names. Needs no PyTorch: see ../torch.py for what runs it.
"""

from functools import partial
from typing import List

from photofinish.frameworks._common.classes import ClassWriter, module, training_loss
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._torch.weights import native_name, place, places
from photofinish.graph import Graph

RULES, LOSSES, HELPERS = (gathered("_torch", table) for table in ("RULES", "LOSSES", "HELPERS"))


class ModuleWriter(ClassWriter):
    """Writes one graph in classes."""

    taken = {"Model", "F"} | set(HELPERS)
    title = "PyTorch"
    rules = RULES
    loop = ("outputs = []",
            "for x in sequence.unbind(1):",
            "    carry, y = self.step(carry, x)",
            "    outputs.append(y)",
            "return carry, torch.stack(outputs, 1)")
    call = "forward"

    def ties(self) -> List[str]:
        found = places(self.graph)
        return ["self.{} = self.{}".format(place(node, own).path, found[shared].path)
                for node in self.graph.nodes for own, shared in node.parameters if shared != node.name + "." + own]

    def attribute(self, name: str) -> str:
        return native_name(name)


SOURCE = '''\
"""To train:

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for {batch} in batches:
        optimizer.zero_grad()
        loss, _ = training_loss(model, {batch})
        loss.backward()
        optimizer.step()

Mode "compile" makes it torch.compile(training_loss, dynamic=False), and torch.compile(model) for inference.
"""

import torch
import torch.nn.functional as F
from torch import nn

# The digest of the graph this was written from.
GRAPH = "{digest}"
'''


def native_source(graph: Graph) -> str:
    """A module with the class Model and the function training_loss. Raises Unsupported, naming the layer."""
    return module(graph, ModuleWriter, LOSSES, native_name, HELPERS, (), SOURCE, "nn.Module",
                  partial(training_loss, shown="{}.detach()"))
