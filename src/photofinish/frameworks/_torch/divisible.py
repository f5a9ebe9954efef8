"""What of a graph several processes can share by its features (tensor parallelism, Shoeybi et al. 2019). Needs no
PyTorch: what is printed looks at it, too.
"""

import re
from collections import Counter
from fnmatch import fnmatch
from typing import Any, Dict, Iterator, Optional, Tuple

from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph, Node
from photofinish.layers import Attention, Clip, Elu, Gelu, LeakyRelu, Linear, Relu, Sigmoid, Swish, Tanh

ALONE = (Clip, Elu, Gelu, LeakyRelu, Relu, Sigmoid, Swish, Tanh)  # that look at one feature at a time
Block = Tuple[Tuple[Node, ...], Optional[Node], Node]  # split by columns, the attention between, split by rows


def divisible(graph: Graph, world: int) -> Iterator[Block]:
    """The blocks of a graph that so many processes can share: attentions, if they can share every one of them, and
    pairs of linear layers with nothing between that mixes features."""
    maker = {output: node for node in graph.nodes for output in node.outputs}
    uses = Counter([name for node in graph.nodes for name in node.inputs] + list(graph.outputs)
                   + [loss.prediction for loss in graph.losses])
    owners = Counter(name for node in graph.nodes for _, name in node.parameters)
    taken = set()

    def linear(name: str) -> Optional[Node]:
        """The linear layer that makes it for one reader alone, and shares its parameters with nobody."""
        node = maker.get(name)
        if node is None or not isinstance(node.layer, Linear) or uses[name] > 1 or node.name in taken:
            return None
        shared = any(owners[each] > 1 for _, each in node.parameters) or graph.spec(name).size("C") % world
        return None if shared else node

    def before(node: Node) -> Optional[Node]:
        """What made its input, but for what looks at one feature at a time."""
        made = maker.get(node.inputs[0])
        while made is not None and isinstance(made.layer, ALONE) and uses[made.name] == 1:
            made = maker.get(made.inputs[0])
        return made

    blocks = []
    for rows in graph.nodes:
        made = before(rows) if isinstance(rows.layer, Linear) else None
        if made is None or any(owners[name] > 1 for _, name in rows.parameters):
            continue
        heads = made.layer.heads if isinstance(made.layer, Attention) and uses[made.name] == 1 else 0
        columns = [node for node in map(linear, made.inputs[:3] if heads else made.outputs) if node is not None]
        if len(columns) == (3 if heads else 1) and heads % world == 0:
            blocks.append((tuple(columns), made if heads else None, rows))
            taken |= {rows.name, *(node.name for node in columns)}
    every = {node.name for node in graph.nodes if isinstance(node.layer, Attention)}
    shared = {between.name for _, between, _ in blocks if between}
    return (block for block in blocks if block[1] is None or shared == every)


def module_of(node: Node, paths: Dict[str, Any]) -> str:
    """By what name a Model has the module of a layer with a weight."""
    return str(paths[dict(node.parameters)["weight"]].path).rpartition(".")[0]


def written_plan(graph: Graph, world: int) -> Dict[str, str]:
    """How the divisible modules of a Model are, as parallelize_module takes it: expressions by names, in which a *
    stands for any number. Empty where nothing is."""
    paths = places(graph)
    plan = {}
    for columns, attention, rows in divisible(graph, world):
        local = "" if attention else "use_local_output=False"  # a view, into which activations must not write
        plan.update({module_of(node, paths): "ColwiseParallel({})".format(local) for node in columns})
        plan[module_of(rows, paths)] = "RowwiseParallel()"
    everyone = {each.path.rpartition(".")[0] for each in paths.values()}
    short = {}
    for name, style in plan.items():
        pattern = re.sub(r"\d+(?=.*[.])", "*", name)  # but for the last word
        alike = {plan.get(each) for each in everyone if each.count(".") == name.count(".") and fnmatch(each, pattern)}
        short[pattern if alike == {style} else name] = style
    return short
