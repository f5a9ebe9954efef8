"""Slow layers planted in a built model, as `measure.sabotage` asks for them; no race loads this otherwise."""

from functools import partial
from typing import Any, List

import torch

from photofinish.frameworks import Unsupported
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph, Node


def copy(contestant: Any, graph: Graph, times: int) -> None:
    """Every module that has none within it copies its output. What is a function in the source is none."""
    _check(contestant)
    for module in contestant.model.modules():
        if not any(module.children()):
            module.register_forward_hook(partial(_copied, times))


def widen(contestant: Any, graph: Graph, nodes: List[Node]) -> None:
    """The modules of these layers compute in float64, and hand out float32 as before. Raises Unsupported for a layer
    without parameters, which is no module, or with running state."""
    _check(contestant)
    found = places(graph)
    for node in nodes:
        paths = {found[name].path.rpartition(".")[0] for _, name in node.parameters}
        for path in paths or {""}:
            module = contestant.model.get_submodule(path)
            if not path or list(module.buffers()):
                raise Unsupported("{} cannot be widened to float64".format(node.name))
            module.forward = partial(_widened, module)


def _check(contestant: Any) -> None:
    if contestant.setup.mode != "eager":
        raise Unsupported("layers can be changed in torch:eager alone")


def _copied(times: int, module: Any, inputs: Any, output: Any) -> Any:
    for _ in range(times):
        output = output.clone() if torch.is_tensor(output) else output
    return output


def _widened(module: Any, *inputs: Any) -> Any:
    kept = module._parameters
    module._parameters = {name: value if value is None else value.double() for name, value in kept.items()}
    try:
        return type(module).forward(module, *(each.double() for each in inputs)).to(inputs[0].dtype)
    finally:
        module._parameters = kept
