"""Every layer in ONNX: the families' tables as one."""

from photofinish.frameworks._onnx import (
    activation,
    arithmetic,
    attention,
    convolution,
    dense,
    losses,
    normalisation,
    pooling,
    recurrent,
)
from photofinish.frameworks._onnx.use import Rules

__all__ = ["RULES"]

FAMILIES = (activation, arithmetic, attention, convolution, dense, losses, normalisation, pooling, recurrent)
RULES: Rules = {kind: rule for family in FAMILIES for kind, rule in family.RULES.items()}
