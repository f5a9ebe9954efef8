"""Running variances in the graph's convention, where a framework keeps the sample's."""

from typing import Dict, Tuple

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.variances import SampleVariances, positions
from photofinish.graph import Graph


class PopulationVariances(SampleVariances):
    """Those that the graph keeps as the population's (n) where the framework keeps the sample's (n - 1): the same, the
    other way round. Raises Unsupported where a batch brings a channel a single value, of which a framework makes NaN.
    """

    def __init__(self, graph: Graph, batch: int, trains: bool) -> None:
        self.terms: Dict[str, Tuple[float, int]] = {}
        for node in graph.nodes:
            if isinstance(node.layer, layers.BatchNorm):
                count = batch * positions(graph, node)
                if count == 1 and trains:
                    raise Unsupported("{}: one value has no sample variance".format(node.name))
                if node.layer.running_variance == "population":
                    # as many as make the share, count / (count - 1), the inverse of itself
                    self.terms["state/" + dict(node.state)["running_variance"]] = (node.layer.momentum, 1 - count)
