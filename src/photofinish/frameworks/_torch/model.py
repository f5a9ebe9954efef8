"""The module that _torch/ prints, as engines take it that a model is exported to from PyTorch."""

from typing import Any, Dict, Tuple

import numpy as np
import torch

from photofinish.frameworks import Arrays
from photofinish.frameworks._common.places import Place

Exportable = Tuple[Any, Tuple[Any, ...]]  # a module and a batch


class Product(torch.nn.Module):  # type: ignore[misc]
    """Of two inputs, element by element."""

    def forward(self, a: Any, b: Any) -> Any:
        return a * b


def fill(module: Any, places: Dict[str, Place], arrays: Arrays) -> None:
    """Puts parameters and state into the module."""
    tensors = module.state_dict()
    with torch.no_grad():
        for name, values in arrays.items():
            place = places[name.split("/", 1)[1]]
            tensors[place.path].copy_(torch.from_numpy(np.ascontiguousarray(place.native(values))))


def operation(name: str, constants: Arrays) -> Any:
    """The module of a probe; a constant is its weight."""
    module: Any = Product()
    for weight in constants.values():
        module = torch.nn.Linear(*weight.shape, bias=False) if name == "matmul" else torch.nn.Conv2d(
            weight.shape[1], weight.shape[0], weight.shape[2:], padding=1, bias=False)
        values = np.ascontiguousarray(weight.T if name == "matmul" else weight)
        module.weight = torch.nn.Parameter(torch.from_numpy(values))
    return module.eval()
