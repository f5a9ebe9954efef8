"""The ONNX file itself: the one place that needs the onnx package."""

from typing import Any, Dict, Iterable, List, Optional, Tuple

import numpy as np
import onnx
import onnx.printer
from onnx import TensorProto, helper, numpy_helper

from photofinish.frameworks import Arrays, Unsupported
from photofinish.frameworks._onnx.use import Operation, Program
from photofinish.graph import Graph
from photofinish.layers import Spec

# What exporters write by default. From 19 on ONNX Runtime averages pools by a slower kernel (its AveragePool-19 does
# not use MLAS), and there is nothing in between that a layer needs.
OPSET = 18
IR_VERSION = 8  # the first that knows OPSET, so that every reader of OPSET reads the file
LIMIT = 2 ** 31 - 2 ** 20  # bytes of initializers that a file of one part can hold: protobuf's limit, less the rest
OUTSIDE = "weights"  # where the weights of a printed model are said to be


def model(graph: Graph, program: Program, arrays: Arrays) -> Any:
    """A ModelProto of the graph, as `source.write` wrote it, with these canonical arrays.

    Raises Unsupported if one file cannot hold them.
    """
    tensors = _initializers(program, arrays)
    if sum(each.nbytes for _, each in tensors) > LIMIT:
        raise Unsupported("its weights exceed the 2 GiB that one ONNX file can hold")
    return _model(graph, program, [numpy_helper.from_array(each, name) for name, each in tensors])


def serialised(graph: Graph, program: Program, arrays: Arrays) -> bytes:
    """The bytes of such a file."""
    return model(graph, program, arrays).SerializeToString()  # type: ignore[no-any-return]


def text(graph: Graph, program: Program) -> str:
    """The model as onnx.printer spells it, with the shapes of weights in place of their values."""
    declared = [("parameter/", graph.parameters), ("state/", graph.state)]
    arrays = {group + name: np.broadcast_to(np.float32(1), each.shape)  # takes no memory
              for group, found in declared for name, each in found.items()}
    tensors = [_outside(name, array) if name in program.weights else numpy_helper.from_array(array, name)
               for name, array in _initializers(program, arrays)]
    return onnx.printer.to_text(_model(graph, program, tensors)) + "\n"  # type: ignore[no-any-return]


def operation(kind: str, inputs: Dict[str, np.ndarray], constants: Optional[Arrays] = None,
              **attributes: Any) -> bytes:
    """The file of a model of one operation, with one output called "result"; `constants` come after the inputs."""
    program = Program(1, {}, dict(constants or {}))
    names = tuple(inputs) + tuple(program.constants)
    program.operations = [Operation(kind, names, ("result",), attributes)]
    values = [_value(name, array.shape) for name, array in inputs.items()]
    graph = helper.make_graph(_nodes(program), kind, values, [_value("result", None)],
                              [numpy_helper.from_array(each, name) for name, each in program.constants.items()])
    return _file(graph).SerializeToString()  # type: ignore[no-any-return]


def _initializers(program: Program, arrays: Arrays) -> List[Tuple[str, np.ndarray]]:
    found = [(name, np.ascontiguousarray(make(arrays), np.float32)) for name, make in program.weights.items()]
    return found + list(program.constants.items())


def _outside(name: str, array: np.ndarray) -> Any:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=array.shape,
                         data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=OUTSIDE)
    return tensor


def _model(graph: Graph, program: Program, initializers: List[Any]) -> Any:
    made = _file(_graph(program, "model", initializers))
    helper.set_model_props(made, {"photofinish.graph": graph.digest})
    return made


def _file(graph: Any) -> Any:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                             producer_name="photofinish")


def _graph(program: Program, name: str, initializers: Iterable[Any] = ()) -> Any:
    def values(declared: List[Tuple[str, Spec]]) -> List[Any]:
        return [_value(each, (program.batch,) + tuple(spec.shape), spec.dtype) for each, spec in declared]

    return helper.make_graph(_nodes(program), name, values(program.inputs), values(program.outputs), initializers)


def _nodes(program: Program) -> List[Any]:
    return [helper.make_node(each.kind, each.inputs, each.outputs, name=each.outputs[0],
                             **{key: _attribute(each.outputs[0], key, value) for key, value in each.attributes.items()})
            for each in program.operations]


def _attribute(node: str, key: str, value: Any) -> Any:
    if isinstance(value, Program):
        return _graph(value, node + " body")
    return _type(value) if key == "to" else value


def _value(name: str, shape: Optional[Tuple[int, ...]], dtype: str = "float32") -> Any:
    return helper.make_tensor_value_info(name, _type(dtype), shape)


def _type(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))  # type: ignore[no-any-return]
