"""Every layer in tinygrad: the families' tables as one."""

from typing import Dict

from photofinish.frameworks._tinygrad import (
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
from photofinish.frameworks._tinygrad.native import Rules

FAMILIES = (activation, arithmetic, attention, convolution, dense, normalisation, pooling, recurrent)
RULES: Rules = {kind: rule for family in FAMILIES for kind, rule in family.RULES.items()}
HELPERS: Dict[str, str] = {  # what tinygrad does not ship, printed where a model needs it
    name: text for family in FAMILIES + (losses,) for name, text in getattr(family, "HELPERS", {}).items()}
