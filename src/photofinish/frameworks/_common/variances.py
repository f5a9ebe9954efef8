"""Running variances in the graph's convention, where a framework's own is another."""

from typing import Any, Dict, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import Arrays, Given, Unsupported
from photofinish.graph import Graph, Node


def positions(graph: Graph, node: Node) -> int:
    """How many values of each channel one sample brings to a node."""
    spec = graph.spec(node.inputs[0])
    return int(np.prod(spec.shape)) // spec.size("C")


class SampleVariances:
    """Those that the graph keeps as the sample's (n - 1) where the framework keeps the population's (n).

    Both decay from the one that was put, so they differ by n / (n - 1) in the rest alone: exact, no tolerance.
    `names` are theirs ("state/..."). Raises Unsupported where a batch brings a channel a single value.
    """

    def __init__(self, graph: Graph, batch: int, trains: bool) -> None:
        self.terms: Dict[str, Tuple[float, int]] = {}  # momentum, and values of a channel in a batch
        for node in graph.nodes:
            if isinstance(node.layer, layers.BatchNorm) and node.layer.running_variance == "sample":
                name = "state/" + dict(node.state)["running_variance"]
                self.terms[name] = (node.layer.momentum, batch * positions(graph, node))
        single = [name for name, (_, count) in self.terms.items() if count == 1]
        if single and trains:
            raise Unsupported("{}: one value has no sample variance".format(single[0]))

    def begin(self, arrays: Given, step: int) -> None:
        """From this step on, updates count from these variances, which are in the graph's convention."""
        self.step = step
        self.first = {name: np.array(arrays[name], np.float64) for name in self.terms}

    def canonical(self, arrays: Arrays, step: int) -> Arrays:
        """What the framework's variances (in canonical layout) are in the graph's convention after that step. What is
        left of those that `begin` saw is as it was; the batches' share, which was divided by n, is by n - 1."""
        found: Dict[str, Any] = {}
        for name, (momentum, count) in self.terms.items():
            value = arrays[name]
            rest = momentum ** (step - self.step) * self.first[name]
            turned = rest + (value - rest) * (count / (count - 1.0)) if step != self.step else value
            found[name] = turned.astype(value.dtype)
        return found
