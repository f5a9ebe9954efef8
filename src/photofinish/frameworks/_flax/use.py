"""How one layer is written in JAX, channels last: as flax.nnx writes it, and as a plain function of its parameters."""

import re
from typing import Any, Callable, Dict, Tuple, Union

from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.places import legal
from photofinish.frameworks._common.text import call
from photofinish.frameworks._common.use import Rule, Rules, Use, always

__all__ = ["Functions", "Rule", "Rules", "Use", "always", "made", "module", "native_name", "padding"]


# Of layers with parameters, statistics or random numbers: the call as a function. {p} are the layer's parameters, {s}
# its statistics, {keys} the random keys (None in inference). Other layers are written alike in both styles.
Functions = Dict[type, Callable[[Use], str]]


def made(kind: str, *arguments: Any, **options: Any) -> str:
    """The text of a constructor that draws its parameters."""
    text = call(kind, *arguments, **options)[:-1]
    return text + ("rngs=rngs)" if text.endswith("(") else ", rngs=rngs)")


def module(kind: str, *arguments: Any, **options: Any) -> Native:
    """A module of one input."""
    return Native("{self}({0})", made(kind, *arguments, **options))


def padding(amounts: Tuple[int, ...]) -> Union[int, Tuple[Tuple[int, int], ...]]:
    """Both frameworks' spelling of (before of each axis, after of each axis): one number if all agree, else pairs."""
    half = len(amounts) // 2
    return amounts[0] if len(set(amounts)) == 1 else tuple(zip(amounts[:half], amounts[half:]))


RESERVED = re.compile("""
    (rngs|model|optimizer|loss|outputs?\\d*|gradients|build|compiled|training_loss|train_step|infer|p|s|keys|key
    |partial|jax|jnp|nnx|np|optax|self|carry|x|step|GRAPH|deterministic|use_running_average|train|eval|perturb|sow
    |set_attributes|iter_(modules|children)|weights|memory|parameters|statistics|found|forward|backward)$""",
                      re.VERBOSE)


def native_name(name: str) -> str:
    """A name of the graph as one that is legal, and that neither nnx.Module nor the printed code uses itself."""
    return legal(name, RESERVED)
