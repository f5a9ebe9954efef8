"""What a rule is given: one use of a layer, to be said in ONNX operators. Needs no onnx: see model.py."""

from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Set, Tuple

import numpy as np

from photofinish.graph import Graph, Node
from photofinish.layers import Spec

Arrays = Dict[str, np.ndarray]
Maker = Callable[[Arrays], np.ndarray]  # from canonical arrays to what the model holds


class Operation(NamedTuple):
    """One ONNX node. An attribute may be a Program: the body of a Scan."""

    kind: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    attributes: Dict[str, Any]


class Program:
    """An ONNX graph before it is one. Tensors go by their names; the batch is fixed, and part of every shape.

    `weights` maps an initializer to what makes it of the canonical arrays, `constants` one to its values; the body of
    a Scan has those of the graph around it.
    """

    def __init__(self, batch: int, weights: Dict[str, Maker], constants: Arrays) -> None:
        self.batch = batch
        self.weights = weights
        self.constants = constants
        self.inputs: List[Tuple[str, Spec]] = []
        self.outputs: List[Tuple[str, Spec]] = []
        self.operations: List[Operation] = []

    def rename(self, before: str, after: str, start: int) -> None:
        """Another name for a tensor that only operations from number `start` on make and read."""
        def renamed(names: Sequence[str]) -> Tuple[str, ...]:
            return tuple(after if name == before else name for name in names)

        self.operations[start:] = [each._replace(inputs=renamed(each.inputs), outputs=renamed(each.outputs))
                                   for each in self.operations[start:]]


class Use:
    """One layer while it is written: calling it adds an operation and returns the name of what comes out.

    `arrays` maps the layer's own names to canonical ones ("parameter/<name>"), `tied` are those that other layers
    have too; `write` makes the Program of a graph inside this one.
    """

    def __init__(self, program: Program, node: Node, name: str, specs: Sequence[Spec], arrays: Dict[str, str],
                 tied: Set[str], write: Callable[..., Program]) -> None:
        self.program = program
        self.layer: Any = node.layer
        self.name = name
        self.specs = specs
        self.arrays = arrays
        self.tied = tied
        self.write = write
        self.operators = 0

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self.several(kind, 1, *inputs, **attributes)[0]

    def several(self, kind: str, count: int, *inputs: str, **attributes: Any) -> Tuple[str, ...]:
        """An operation with so many outputs."""
        self.operators += 1
        outputs = tuple("{}/{}{}{}".format(self.name, kind, self.operators, ":{}".format(i) if i else "")
                        for i in range(count))
        self.program.operations.append(Operation(kind, inputs, outputs, attributes))
        return outputs

    def constant(self, values: Any, dtype: str = "float32") -> str:
        """An initializer that is no weight; equal ones are one."""
        array = np.asarray(values, dtype)
        for name, known in self.program.constants.items():
            if known.dtype == array.dtype and known.shape == array.shape and np.array_equal(known, array):
                return name
        name = "constant/{}".format(len(self.program.constants) + 1)
        self.program.constants[name] = array
        return name

    def integers(self, *values: int) -> str:
        """A list of axes, sizes or positions."""
        return self.constant(values, "int64")

    def weight(self, own: str) -> str:
        """The initializer of the array that the layer calls `own`: one for all layers that share it."""
        key = self.arrays[own]
        name = key.split("/", 1)[1]
        self.program.weights[name] = lambda arrays: arrays[key]
        return name

    def made(self, label: str, make: Callable[..., np.ndarray], *own: str) -> str:
        """An initializer made of arrays of the layer before any engine sees the model."""
        name, keys = "{}.{}".format(self.name, label), [self.arrays[each] for each in own]
        self.program.weights[name] = lambda arrays: make(*(arrays[key] for key in keys))
        return name

    def transposed(self, own: str) -> str:
        """A matrix turned round: in the file, or by an operation where other layers have it too."""
        if self.arrays[own] in self.tied:
            return self("Transpose", self.weight(own), perm=(1, 0))
        return self.made(own + ".T", np.transpose, own)

    def permuted(self, x: str, axes: str, wanted: str) -> str:
        """A tensor of those axes (the batch in front, unnamed) in another order."""
        return x if axes == wanted else self("Transpose", x, perm=(0,) + tuple(1 + axes.index(each) for each in wanted))

    def axis(self, letter: str) -> int:
        """Where the first input has that axis, the batch axis counted."""
        return 1 + self.specs[0].axes.index(letter)

    def inner(self, graph: Graph) -> Program:
        """A graph inside this one, which runs in its place and sees its initializers."""
        return self.write(graph, self.program, self.name + "/", self.arrays, self.tied)


Rules = Dict[type, Callable[..., Any]]  # from a Use and the names of its inputs to those of its outputs


def plain(kind: str) -> Callable[..., str]:
    """The operator of that name, with nothing to say."""
    return lambda use, *inputs: use(kind, *inputs)
