"""Optimizers as values: what one update does to a parameter p with gradient g.

Slots are arrays kept per parameter, named as in `slots`; a state dictionary spells them
"<slot>/<parameter>" beside "parameter/<name>", "state/<name>" and the scalar "step".
"""

from dataclasses import dataclass
from typing import Any, Dict, Tuple, Union


@dataclass(frozen=True)
class SGD:
    """velocity = momentum * velocity + g; p -= learning_rate * velocity (PyTorch's form)."""

    learning_rate: float = 1e-2
    momentum: float = 0.9

    @property
    def slots(self) -> Tuple[str, ...]:
        return ("velocity",)


@dataclass(frozen=True)
class Adam:
    """Algorithm 1 of Kingma & Ba 2014 (arXiv 1412.6980), epsilon added after the bias correction.

    m = b1 m + (1-b1) g; v = b2 v + (1-b2) g*g; p -= learning_rate * mhat / (sqrt(vhat) + epsilon).
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    @property
    def slots(self) -> Tuple[str, ...]:
        return ("moment1", "moment2")


Optimizer = Union[SGD, Adam]
OPTIMIZERS: Dict[str, Any] = {"sgd": SGD, "adam": Adam}


def optimizer_json(optimizer: Optimizer) -> Dict[str, Any]:
    return dict(vars(optimizer), kind=type(optimizer).__name__.lower())


def optimizer_from_json(data: Dict[str, Any]) -> Optimizer:
    return OPTIMIZERS[data["kind"]](**{name: value for name, value in data.items() if name != "kind"})  # type: ignore[no-any-return]
