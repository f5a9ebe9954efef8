"""Writes ONNX files for ONNX Runtime in another language: a program that its worker calls.

    python -m photofinish.frameworks._onnx.export outline GRAPH BATCH        what the model takes and gives, as JSON
    python -m photofinish.frameworks._onnx.export model GRAPH BATCH STATE FILE
    python -m photofinish.frameworks._onnx.export operation NAME ARRAYS FILE   one operation for a probe; what it takes

Exit code 3: there is no such model; the last line of standard error says why.
"""

import json
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Sequence

import numpy as np

from photofinish.frameworks import Arrays, Unsupported
from photofinish.frameworks._common.engine import PROBES
from photofinish.frameworks._onnx import model
from photofinish.frameworks._onnx.engine import OPERATIONS
from photofinish.frameworks._onnx.pads import with_axes
from photofinish.frameworks._onnx.source import write
from photofinish.graph import Graph

UNSUPPORTED = 3


def outline(graph: str, batch: str) -> Dict[str, Any]:
    program = write(_graph(graph), int(batch))
    return {"inputs": {name: spec.dtype for name, spec in program.inputs},
            "outputs": [name for name, _ in program.outputs]}


def whole(graph: str, batch: str, state: str, file: str) -> Dict[str, Any]:
    found = _graph(graph)
    program = with_axes(write(found, int(batch)))
    Path(file).write_bytes(model.serialised(found, program, _arrays(state)))
    return {}


def operation(name: str, arrays: str, file: str) -> Dict[str, Any]:
    given = _arrays(arrays)
    fixed = {key: given.pop(key) for key in list(given)[1:]} if PROBES[name] else {}
    kind, attributes = OPERATIONS[name]
    Path(file).write_bytes(model.operation(kind, given, fixed, **attributes))
    return {"inputs": dict.fromkeys(given, "float32")}


COMMANDS: Dict[str, Callable[..., Dict[str, Any]]] = {"outline": outline, "model": whole, "operation": operation}


def main(arguments: Sequence[str]) -> int:
    """Prints what the worker must know of the file."""
    command, *rest = arguments
    try:
        print(json.dumps(COMMANDS[command](*rest)))
    except Unsupported as reason:
        print(reason, file=sys.stderr)
        return UNSUPPORTED
    return 0


def _graph(path: str) -> Graph:
    return Graph.from_json(json.loads(Path(path).read_text()))


def _arrays(path: str) -> Arrays:
    with np.load(path) as file:
        return dict(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
