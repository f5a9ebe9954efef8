"""What the exact function makes of operands that an integer format has rounded: the draws by which a mode of that
format is judged.

An integer format has equal steps over the range of a tensor, or of each output channel of a weight, so that what its
rounding takes hangs on that range, and neither the parameters nor the inputs of a model show it for what lies between.
Moved are therefore the operands of all products, where they are read. Inference alone: nothing is learnt in steps so
wide.
"""

from dataclasses import replace
from typing import Any, Dict, Iterable, List, Optional

import numpy as np

from photofinish.frameworks import Arrays, Given
from photofinish.graph import Graph, Node
from photofinish.layers import Add
from photofinish.optimizers import Optimizer
from photofinish.weights import stream

OUTPUT, PARAMETER = "output/", "parameter/"
MOVE, MOVED = "move{}", "moved{}"  # an input of the graph that is added to an operand, and their sum


class Quantised:
    """A contestant in float64, each value of whose operands, unless it is zero, is off by `unit` of the range it lies
    in, up or down at random: half a step, the most that one rounding changes. `draw` draws the signs."""

    def __init__(self, exact: Any, unit: float, draw: int) -> None:
        self._exact = exact
        self._unit = unit
        self._draw = draw

    def __getattr__(self, name: str) -> Any:
        return getattr(self._exact, name)

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self._graph, self._operands = graph, operands(graph)
        self._weights = weights(graph)
        self._exact.build(movable(graph, self._operands), batch, optimizer)

    def put(self, arrays: Given) -> None:
        self._exact.put({name: self._off(name, values, channels(values)) if name in self._weights else values
                         for name, values in arrays.items()})

    def feed(self, arrays: Arrays) -> Arrays:
        return arrays

    def infer(self, batch: Arrays) -> Arrays:
        """First with operands as they are, which shows their ranges, then with all of them moved."""
        size = len(next(iter(batch.values())))
        still = {name: np.zeros((size,) + tuple(self._graph.spec(name).shape)) for name in self._operands}
        seen = dict(batch, **self._run(batch, still))
        found = self._run(batch, {name: self._off(name, seen[name]) - seen[name] for name in self._operands})
        return {OUTPUT + name: found[name] for name in self._graph.outputs if name in found}

    def read(self, handle: Arrays) -> Arrays:
        """What was read already."""
        return handle

    def _run(self, batch: Arrays, moves: Arrays) -> Arrays:
        """Every output of the movable graph, by the name of its tensor."""
        fed = {MOVE.format(number): moves[name] for number, name in enumerate(self._operands)}
        found = self._exact.read(self._exact.infer(self._exact.feed(dict(batch, **fed))))
        return {name[len(OUTPUT):]: values for name, values in found.items()}

    def _off(self, name: str, values: np.ndarray, span: Any = None) -> np.ndarray:
        span = width(values) if span is None else span
        signs = 2 * stream(self._draw, "rounding " + name).randint(0, 2, values.shape, dtype=np.int8) - 1
        return np.asarray(values + signs * (values != 0) * (self._unit * span))


def width(values: np.ndarray) -> float:
    """Of the range that holds all values of a tensor and zero, which lies on a step: padding and ReLU count on it."""
    return max(float(values.max()), 0.0) - min(float(values.min()), 0.0)


def channels(weight: np.ndarray) -> np.ndarray:
    """The width of the range, symmetric about zero, of each output channel of a weight: that of its first axis."""
    return np.asarray(2.0 * np.abs(weight).max(axis=tuple(range(1, weight.ndim)), keepdims=True))


def products(graph: Graph) -> Iterable[Node]:
    """The nodes of inference whose layers multiply and add."""
    return [node for node in graph.nodes if not node.training_only and node.layer.macs(*graph.input_specs(node))]


def operands(graph: Graph) -> List[str]:
    """The tensors that products read, once each."""
    read = {name: None for node in products(graph) for name in node.inputs}
    return [name for name in read if graph.spec(name).dtype.startswith("float")]


def weights(graph: Graph) -> Dict[str, str]:
    """The arrays that products multiply by, canonical name -> name in the graph: all of theirs but vectors, which they
    add."""
    return {PARAMETER + name: name for node in products(graph) for _, name in node.parameters
            if len(graph.parameters[name].shape) > 1}


def movable(graph: Graph, tensors: List[str]) -> Graph:
    """The same model, with an input for each of these tensors that is added to it where products read it, and with the
    tensors themselves, which it makes, among its outputs."""
    moved = {name: MOVED.format(number) for number, name in enumerate(tensors)}
    inputs = tuple((MOVE.format(number), graph.spec(name)) for number, name in enumerate(tensors))
    sums = {name: Node(moved[name], Add(), (name, MOVE.format(number)), (moved[name],))
            for number, name in enumerate(tensors)}
    reading = {node.name for node in products(graph)}
    given = [name for name, _ in graph.inputs]
    nodes = [sums[name] for name in given if name in sums]
    for node in graph.nodes:
        nodes.append(replace(node, inputs=tuple(moved.get(name, name) for name in node.inputs))
                     if node.name in reading else node)
        nodes += [sums[name] for name in node.outputs if name in sums]
    shown = tuple(name for name in tensors if name not in (*given, *graph.outputs))
    return replace(graph, inputs=graph.inputs + inputs, nodes=tuple(nodes), outputs=graph.outputs + shown)
