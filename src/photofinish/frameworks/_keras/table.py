"""Every layer in Keras: the families' tables as one."""

from typing import Dict

from photofinish.frameworks._keras import (
    activation,
    arithmetic,
    attention,
    convolution,
    dense,
    losses,
    normalisation,
    optimizers,
    pooling,
    recurrent,
)
from photofinish.frameworks._keras.use import Rules

FAMILIES = (activation, arithmetic, attention, convolution, dense, normalisation, pooling, recurrent)
RULES: Rules = {kind: rule for family in FAMILIES for kind, rule in family.RULES.items()}
HELPERS: Dict[str, str] = {  # what Keras lacks, printed above the model where it is used
    name: text for family in FAMILIES + (losses, optimizers) for name, text in getattr(family, "HELPERS", {}).items()}
