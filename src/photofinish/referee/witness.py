"""Whether the reference of a proof is good for anything: whether two float64 computations of it agree, which lets a
fast one stand in for NumPy, and whether its steps lead anywhere."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from photofinish.measure.proof import FORCED, REFERENCE, Plan, diverged, kind, load, was_forward_only
from photofinish.referee.parameters import Parameters, Results
from photofinish.referee.tolerance import INFINITE, size

AGREED = 1e-9  # of a tensor's scale; a float32 unit in the last place is a hundred times as much


def disagreement(folder: Path, label: str) -> tuple[float, str]:
    """The largest error, relative to a tensor's scale, between the reference and what `measure.proof.confirm` wrote
    under `label`, and the tensor's name."""
    return max(_errors(Path(folder), label), default=(0.0, ""))


def runs_away(folder: Path) -> str:
    """How the reference's loss grows beyond all bounds in ten steps, if it does: of such a trajectory nothing can be
    compared."""
    folder = Path(folder)
    for optimizer in () if was_forward_only(folder, REFERENCE) else Plan.read(folder).optimizers:
        losses = load(folder / REFERENCE / "draw0" / f"{kind(optimizer)}-free.npz")["loss"]
        if diverged(losses):
            return f"the loss goes from {losses[0]:.3g} to {losses[-1]:.3g} in ten steps of {optimizer}"
    return ""


def _errors(folder: Path, label: str) -> Iterator[tuple[float, str]]:
    plan = Plan.read(folder)
    step = f"{kind(plan.optimizers[0])}-step{FORCED[0]}"
    for exercise in ("inference",) if was_forward_only(folder, REFERENCE) else ("inference", "training", step):
        expected, seen = (load(folder / side / "draw0" / f"{exercise}.npz") for side in (REFERENCE, label))
        scales = _scales(plan, expected) if exercise == "training" else {}
        for name in sorted(expected.keys() | seen.keys()):
            if exercise == step and not name.startswith("state/"):
                continue  # what the step does to parameters follows from gradients and an optimizer proven elsewhere
            if name not in expected or name not in seen or expected[name].shape != seen[name].shape:
                yield INFINITE, name
                continue
            error = size(np.subtract(seen[name], expected[name])) / (scales.get(name) or size(expected[name]) or 1.0)
            yield error if np.isfinite(error) else INFINITE, name


def _scales(plan: Plan, training: Results) -> dict[str, float]:
    """A gradient is told on the scale of the loudest parameter of its layers, for an exact zero is computed as
    rounding; the loss on that of the outputs, whose rounding it keeps."""
    known = Parameters(plan.graph, plan.batch, {"training": training})
    scales = {f"gradient/{name}": max(known.gradients[other] for other in known.siblings(name))
              for name in known.owners}
    return dict(scales, loss=max(size(training["loss"]), known.largest_output))
