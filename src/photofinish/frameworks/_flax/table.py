"""Every layer in JAX: the families' tables as one."""

from typing import Dict

from photofinish.frameworks._flax import (
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
from photofinish.frameworks._flax.use import Functions, Rules

FAMILIES = (activation, arithmetic, attention, convolution, dense, normalisation, pooling, recurrent)
RULES: Rules = {kind: rule for family in FAMILIES for kind, rule in family.RULES.items()}
FUNCTIONS: Functions = {kind: rule for family in FAMILIES for kind, rule in getattr(family, "FUNCTIONS", {}).items()}
HELPERS: Dict[str, str] = {  # what JAX, flax and optax lack, printed above the model where it is used
    name: text for family in FAMILIES + (losses,) for name, text in getattr(family, "HELPERS", {}).items()}
PLAIN_HELPERS: Dict[str, str] = dict(  # and what flax has, for functions of dictionaries
    HELPERS, **{name: text for family in FAMILIES for name, text in getattr(family, "PLAIN_HELPERS", {}).items()})
