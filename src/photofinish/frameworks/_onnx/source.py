"""A graph as an ONNX model in inference form: what only training has is left out, tied weights are one initializer."""

from collections import Counter, OrderedDict
from typing import Dict, Sequence, Set

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.families import gathered
from photofinish.frameworks._onnx.use import Operation, Program, Use
from photofinish.graph import Graph, Node

RULES = gathered("_onnx", "RULES")


def write(graph: Graph, batch: int) -> Program:
    """The whole graph for one batch size; inputs and outputs have its names. Raises Unsupported, naming the layer."""
    nodes = [node for node in graph.nodes if not node.training_only]
    program = Program(batch, OrderedDict(), OrderedDict())
    read = {name for node in nodes for name in node.inputs}
    program.inputs = [pair for pair in graph.inputs if pair[0] in read]
    keys = {name: "parameter/" + name for name in graph.parameters}
    keys.update({name: "state/" + name for name in graph.state})
    tensors = {name: name for name, _ in graph.inputs}
    _operations(program, graph, nodes, "", tensors, keys, set())
    for name in graph.outputs:
        if name in tensors:  # an output of training only is none of inference
            _output(program, tensors[name], name)
            program.outputs.append((name, graph.spec(name)))
    return program


def _inner(graph: Graph, around: Program, prefix: str, keys: Dict[str, str], tied: Set[str]) -> Program:
    """The body of a loop. No name in it may be one of the graph around it."""
    program = Program(around.batch, around.weights, around.constants)
    program.inputs = [(prefix + name, spec) for name, spec in graph.inputs]
    tensors = {name: prefix + name for name, _ in graph.inputs}
    _operations(program, graph, graph.nodes, prefix, tensors, keys, tied)
    for number, name in enumerate(graph.outputs):
        output = "{}output{}".format(prefix, number)
        _output(program, tensors[name], output)
        program.outputs.append((output, graph.spec(name)))
    return program


def _operations(program: Program, graph: Graph, nodes: Sequence[Node], prefix: str, tensors: Dict[str, str],
                keys: Dict[str, str], tied: Set[str]) -> None:
    """Writes the nodes and enters what they make in `tensors`. `keys` maps the graph's names of arrays to canonical
    ones; `tied` are those of them that a layer around this graph has too."""
    uses = Counter(keys[name] for node in nodes for _, name in node.parameters)
    tied = tied | {key for key, times in uses.items() if times > 1}
    for node in nodes:
        kind = type(node.layer)
        if kind not in RULES:
            raise Unsupported("{} ({}): no form in ONNX".format(node.name, kind.__name__))
        arrays = {own: keys[name] for own, name in node.parameters + node.state}
        use = Use(program, node, prefix + node.name, graph.input_specs(node), arrays, tied, _inner)
        start = len(program.operations)
        made = RULES[kind](use, *(tensors[name] for name in node.inputs))
        for name, found in zip(node.outputs, made if isinstance(made, tuple) else (made,)):
            if any(found in each.outputs for each in program.operations[start:]):  # not just passed on
                program.rename(found, prefix + name, start)
                found = prefix + name
            tensors[name] = found


def _output(program: Program, tensor: str, name: str) -> None:
    if tensor != name:
        program.operations.append(Operation("Identity", (tensor,), (name,), {}))


def native_source(graph: Graph, batch: int = 1) -> str:
    """The model as ONNX's own printer spells it, its weights left outside. Needs the onnx package.

    Raises Unsupported, naming the layer.
    """
    from photofinish.frameworks._onnx.model import text
    return text(graph, write(graph, batch))
