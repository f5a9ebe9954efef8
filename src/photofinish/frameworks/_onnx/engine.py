"""What every inference engine that is fed with ONNX has in common; a framework's own file says how it runs."""

from typing import Any, Dict, Optional

from photofinish.frameworks import Arrays
from photofinish.frameworks._common.engine import Engine
from photofinish.frameworks._onnx import model
from photofinish.frameworks._onnx.source import write
from photofinish.frameworks._onnx.use import Program
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer


class OnnxEngine(Engine):
    """Runs the graph's ONNX model: `load` is given a file's bytes, and `run` a batch by names."""

    def adapted(self, program: Program) -> Program:
        """The model in other words where the engine gets these wrong."""
        return program

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch, optimizer)
        self.program = self.adapted(write(graph, batch))
        self.inputs = self.program.inputs

    def written(self, arrays: Arrays) -> bytes:
        return model.serialised(self.graph, self.program, arrays)

    def operation(self, name: str, inputs: Arrays, constants: Arrays) -> bytes:
        kind, attributes = OPERATIONS[name]
        return model.operation(kind, inputs, constants, **attributes)


OPERATIONS: Dict[str, Any] = {  # probe -> its operator and attributes
    "matmul": ("MatMul", {}),
    "conv": ("Conv", {"pads": (1, 1, 1, 1)}),
    "multiply": ("Mul", {}),
}
