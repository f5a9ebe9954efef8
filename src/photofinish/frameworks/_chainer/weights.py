"""Where the native model keeps the arrays of a graph: names that Chainer's links allow, and the rows of each gate."""

import re
from typing import Dict, List, NamedTuple, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks._common.places import dotted, legal, walk
from photofinish.graph import Graph, Node

RESERVED = re.compile("""
    (F|L|np|chainer|self|carry|sequence|outputs?\\d*|model|loss|step|name|xp|device|dtype|local_link_hooks
    |printable_specs|update_enabled|within_init_scope|add_(hook|param|persistent|link)|addgrads
    |call_for_each_param|children|cleargrads
    |copy(mode|params)?|count_params|delete_hook|(dis|en)able_update|forward|from_chx|init_scope|links|namedlinks
    |namedparams|params|register_persistent|repeat|serialize|to_\\w+|zerograds|training_loss|swish|gelu|gelu_by_tanh
    |stochastic_depth|stretched_product|multi_head_attention|pairwise_dots|add_sinusoids|even_response_norm|at_edges
    |adaptive_average_pool|bins|masked_mean|over_time|without_second_bias|cross_entropy|tie|GRAPH)$""",
                      re.VERBOSE)
NORMS = {"weight": "gamma", "bias": "beta", "running_mean": "avg_mean", "running_variance": "avg_var"}
LINKS = (layers.Conv, layers.ConvTranspose, layers.SequenceConv, layers.Linear, layers.Embedding, layers.EmbeddingBag)
GATES = {layers.LSTM: (0, 1, 2, 3), layers.GRU: (1, 0, 2)}  # Chainer's numbers of our gates


def native_name(name: str) -> str:
    """A name of the graph as one that is legal, and that neither a link nor the printed code uses itself."""
    return legal(name, RESERVED)


def native_path(name: str) -> str:
    return dotted(name, native_name)


class Place(NamedTuple):
    """Where an array lives: the path of its parameter from the model, or of one for each gate."""

    paths: Tuple[str, ...]

    def native(self, array: np.ndarray) -> List[np.ndarray]:
        """What each of them has of it: as many rows as the others."""
        return np.split(array, len(self.paths))

    def canonical(self, arrays: List[np.ndarray]) -> np.ndarray:
        return np.concatenate(arrays) if len(arrays) > 1 else np.array(arrays[0])


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives; a shared one is where its first node has it."""
    found: Dict[str, Place] = {}
    for name, nodes, own in walk(graph):
        scope = ".".join(native_path(node.name) for node in nodes)
        found.setdefault(name, Place(tuple(scope + "." + each for each in _own(nodes[-1], own))))
    return found


def _own(node: Node, own: str) -> Tuple[str, ...]:
    """What Chainer calls an array of a layer, or the parts of it."""
    layer = node.layer
    if isinstance(layer, (layers.BatchNorm, layers.LayerNorm)):
        return (NORMS[own],)
    if isinstance(layer, LINKS):
        return ({"weight": "W", "bias": "b"}[own],)
    if not isinstance(layer, layers.Recurrent) or (isinstance(layer, layers.GRU) and not layer.reset_after):
        return (own,)
    _, backward, name = own.rpartition("backward_")
    first = layer.gates if name.startswith("recurrent") else 0
    return tuple("{}.{}{}".format(1 if backward else 0, "w" if name.endswith("weight") else "b", first + gate)
                 for gate in GATES[type(layer)])
