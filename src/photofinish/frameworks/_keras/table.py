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


def helpers(backend: str = "") -> Dict[str, str]:
    """What Keras lacks, printed above the model where it is used. A family has HELPERS, of which some use operations of
    TensorFlow's own; PORTABLE stands in for those on any `backend`, ON_TORCH and ON_JAX on that one."""
    tables = ["HELPERS"] + (["PORTABLE", "ON_" + backend.upper()] if backend else [])
    return {name: text for table in tables for family in FAMILIES + (losses, optimizers)
            for name, text in getattr(family, table, {}).items()}
