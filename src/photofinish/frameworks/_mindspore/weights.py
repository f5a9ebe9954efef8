"""Where the native model keeps the arrays of a graph: names that nn.Cell allows."""

import re
from typing import Dict, List, Tuple

from photofinish import layers
from photofinish.frameworks._common.places import Place, dotted, legal, walk
from photofinish.graph import Graph, Node

RESERVED = re.compile("""
    (ms|np|nn|ops|self|carry|sequence|outputs?\\d*|model|step|Parameter|Tensor|initializer|Normal|training|phase
    |construct|bprop|cells?|cells_and_names|children|named_\\w+|name_cells|cls_name|param_\\w+|parameters?
    |parameters_\\w+|trainable_params|untrainable_params|get_\\w+|set_\\w+|register_\\w+|insert_\\w+|check_\\w+
    |init_\\w+|load_\\w+|update_\\w+|add_flags\\w*|to_float|place|shard|recompute|compile\\w*|exec_\\w+|requires_grad
    |pynative|bprop_debug|instance_count|arguments_key|enable_\\w+|jit_config\\w*|state_dict|buffers?|extend|generate_\\w+
    |flatten_weights|infer_\\w+|run_\\w+|auto_\\w+|offload|reuse|shape|pool|\\w+_loss|masked_mean|elu|split_heads|tanh
    |multi_head_attention|even_response_norm|without_second_bias|cast_\\w+|mixed_precision_cast|parallel_\\w+|comm_fusion
    |cell_\\w+|create_time|exist_\\w+|extend_repr|global_cells|grad_ops_label|has_bprop|is_top_cell|phase_cache
    |mixed_precision_type|pipeline_\\w+|remove_\\w+|to|to_empty|total_instance_count|binary_cross_entropy|run|biases|size
    |apply|hook\\w*|\\w+_hook|GRAPH)$""", re.VERBOSE)
NORMS = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_variance": "moving_variance"}
LSTM = {"input_weight": "w_ih_list", "recurrent_weight": "w_hh_list", "bias": "b_ih_list",
        "input_bias": "b_ih_list", "recurrent_bias": "b_hh_list"}  # with an entry for each direction


def native_name(name: str) -> str:
    """A name of the graph as an attribute of nn.Cell, or an argument."""
    return legal(name, RESERVED)


def places(graph: Graph) -> Dict[str, Place]:
    """"parameter/<name>" and "state/<name>" -> where it lives; a shared one is where its first node has it. A number in
    a path is a place in a tuple."""
    found: Dict[str, Place] = {}
    for name, nodes, own in walk(graph):
        found.setdefault(name, _place(nodes, own))
    return found


def ties(graph: Graph) -> List[Tuple[str, str]]:
    """The path of each shared parameter in another than its first node, and its path there."""
    found = places(graph)
    paths = [(_place(nodes, own).path, found[name].path) for name, nodes, own in walk(graph)]
    return [(path, first) for path, first in paths if path != first]


def _place(nodes: Tuple[Node, ...], own: str) -> Place:
    layer, named = nodes[-1].layer, own
    if isinstance(layer, (layers.BatchNorm, layers.LayerNorm)):
        named = NORMS[own]
    elif isinstance(layer, (layers.Embedding, layers.EmbeddingBag)):
        named = "embedding_table"
    elif isinstance(layer, layers.LSTM):
        _, backward, name = own.rpartition("backward_")
        named = "{}.{}".format(LSTM[name], 1 if backward else 0)
    return Place(".".join([dotted(each.name, native_name) for each in nodes] + [named]))
