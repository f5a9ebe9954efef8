"""What is left of a disagreement between two float64 computations once rounding is taken off.

Where the terms of a gradient cancel, as behind an attention that weighs all positions alike, float64's rounding of the
terms is large beside what is left of them (in a BERT that has not been trained 3e-18 beside 3e-10; its other gradients
are 5e-3). No contender is judged by less than its own rounding of the same terms, which is 2^29 times as coarse, so
this speaks against neither computation. It decides who computes a reference, never what a certificate allows.
"""

from pathlib import Path

from photofinish.measure.proof import REFERENCE, load, was_forward_only
from photofinish.referee import witness
from photofinish.referee.tolerance import size

ROUNDING = 2.0**-43  # of the model's loudest gradient: a thousand units of float64


def disagreement(folder: Path, label: str) -> tuple[float, str]:
    """As `referee.witness.disagreement`, of all but the gradients that differ by rounding alone."""
    rounded = _rounded(Path(folder), label)
    return max((each for each in witness._errors(Path(folder), label) if each[1] not in rounded), default=(0.0, ""))


def _rounded(folder: Path, label: str) -> set[str]:
    if was_forward_only(folder, REFERENCE):
        return set()
    expected, seen = (load(folder / side / "draw0" / "training.npz") for side in (REFERENCE, label))
    names = [name for name, values in expected.items()
             if name.startswith("gradient/") and name in seen and seen[name].shape == values.shape]
    loudest = max((size(expected[name]) for name in names), default=0.0)
    return {name for name in names if size(seen[name] - expected[name]) <= ROUNDING * loudest}
