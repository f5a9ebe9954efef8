"""How long the steps of a proof may be: ten of them must lead somewhere that others can follow."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from photofinish.layers import SoftmaxCrossEntropy
from photofinish.measure import proof
from photofinish.measure.proof import REFERENCE, Plan, kind, load, was_forward_only
from photofinish.optimizers import Optimizer

Paces = Sequence[tuple[Optimizer, ...]]
# Where ten steps as long as proofs usually take lead nowhere (a deep model without normalisation), shorter ones do.
PACES: Paces = [tuple(replace(each, learning_rate=each.learning_rate * pace) for each in proof.OPTIMIZERS)
                for pace in (1.0, 0.1, 0.01)]
# Nats of a cross entropy. Below, little is left of 1 - p of the label but what the sum of a softmax lost: terms that
# are small beside the largest vanish where they are added to it one after another, 4e-6 of a thousand classes.
BY_HEART = 0.5
CHAOS = 0.1  # of a loss: what rounding has grown to where the steps to it are no path any more that others could follow


def went_too_far(folder: Path) -> bool:
    """Whether the reference's ten steps were too long to be compared; then the next trial's are shorter."""
    return _learnt_by_heart(folder) or _chaotic(folder)


def _learnt_by_heart(folder: Path) -> bool:
    """Whether ten steps on its few samples brought the reference's cross entropy below BY_HEART."""
    plan = Plan.read(folder)
    if was_forward_only(folder, REFERENCE) or not any(isinstance(each.layer, SoftmaxCrossEntropy)
                                                      for each in plan.graph.losses):
        return False
    free = (load(folder / REFERENCE / "draw0" / f"{kind(each)}-free.npz") for each in plan.optimizers)
    return any(float(np.min(each["loss"])) < BY_HEART for each in free)


def _chaotic(folder: Path) -> bool:
    """Whether rounding alone led the reference's ten steps somewhere else in one of its draws."""
    plan = Plan.read(folder)
    for each in () if was_forward_only(folder, REFERENCE) else plan.optimizers:
        plain, *moved = (load(path)["loss"] for path in sorted(
            (folder / REFERENCE).glob(f"draw*/{kind(each)}-free.npz"), key=lambda path: path.parent.name != "draw0"))
        if any(np.any(np.abs(draw - plain) > CHAOS * np.abs(plain)) for draw in moved):
            return True
    return False
