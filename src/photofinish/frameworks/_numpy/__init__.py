"""What each layer computes and how its gradients flow back, written out in NumPy: see ../numpy.py.

A layer kind is one rule: a function of a `Use` and the input arrays that returns the output and a `pull`,
which takes the gradient of the output to those of the inputs (None for integers and masks) and leaves the
parameters' gradients in the `Use`. Plain enough to be read beside the definition it implements.

A loss returns its values, one or more, whose mean it is.
"""

from typing import Callable, Dict

from photofinish.frameworks._numpy import (
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
from photofinish.frameworks._numpy.base import Ruled

FAMILIES = (activation, arithmetic, attention, convolution, dense, losses, normalisation, pooling, recurrent)
RULES: Dict[type, Callable[..., Ruled]] = {kind: rule for family in FAMILIES for kind, rule in family.RULES.items()}
