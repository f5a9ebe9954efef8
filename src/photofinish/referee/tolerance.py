"""The rule of the certificate: how far from the exact result a float32 result may lie.

A result is accepted when it lies as close to the exact one as results do whose inputs and weights were
moved by a few units in the last place: the float32 contender's own response to that move (its self-noise,
which also holds its rounding), or the exact function's. A contender that computes in less than float32
cannot vouch for itself: its self-noise counts up to CAP times the exact response. See
docs/concepts/certificate.md for the reasons and the measured head-room.
"""

import sys
from dataclasses import dataclass
from typing import Sequence

import numpy as np

from photofinish.measure.proof import ULPS

UNIT = 2.0 ** -23  # one unit in the last place of float32, relative
NOISE = ULPS * UNIT  # the move of the perturbed draws
FLOOR = 4 * UNIT  # rounding of a result that the move happens not to disturb; of a sum, times sqrt(terms)
KINKS = 2.0  # times the exact response: rounding may tip two ReLUs over that the draws tipped one at a time
CAP = 4.0  # measured for float32: self-noise is 0.9 to 1.2 times the exact response
INFINITE = sys.float_info.max  # the error of what cannot be compared; JSON has no infinity


@dataclass(frozen=True)
class Comparison:
    """One tensor: root-mean-square error and the error allowed, in the tensor's own unit, and the
    root-mean-square `scale` by which a certificate divides both."""

    group: str
    tensor: str
    error: float
    allowed: float
    scale: float

    @property
    def passed(self) -> bool:
        return self.error <= self.allowed

    @property
    def badness(self) -> float:
        """Error over allowed error; the floor keeps two exact zeros comparable."""
        return self.error / self.allowed if self.allowed else (INFINITE if self.error else 0.0)


def size(values: np.ndarray) -> float:
    """Root mean square, in float64."""
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))) if np.size(values) else 0.0


def response(draws: Sequence[np.ndarray]) -> float:
    """The largest root-mean-square difference of a perturbed draw from the plain one (the first).

    The largest and not the mean: where the move tips one ReLU over, it does so in some draws only.
    """
    return max(size(np.subtract(each, draws[0], dtype=np.float64)) for each in draws[1:])


def compare(group: str, tensor: str, reference: Sequence[np.ndarray], contender: Sequence[np.ndarray],
            floor: float, scale: float) -> Comparison:
    """Judges one tensor from its draws (the plain one first). `floor` is allowed in any case; errors are told
    relative to `scale` (0 where the exact result is zero: then as they are)."""
    plain, exact = contender[0], reference[0]
    scale = scale or 1.0
    if plain.shape != exact.shape:
        return Comparison(group, "{} (shape {}, not {})".format(tensor, plain.shape, exact.shape), INFINITE, 0.0, scale)
    if not all(np.all(np.isfinite(each)) for each in contender):
        return Comparison(group, tensor + " (not finite)", INFINITE, 0.0, scale)
    exact_response = response(reference)
    allowed = max(floor, KINKS * exact_response, min(response(contender), CAP * exact_response))
    return Comparison(group, tensor, size(np.subtract(plain, exact, dtype=np.float64)), allowed, scale)
