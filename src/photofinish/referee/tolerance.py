"""The rule of the certificate: how far from the exact result a float32 result may lie.

A result is accepted when it lies as close to the exact one as results do whose inputs and weights were
moved by a few units in the last place: the float32 contender's own response to that move (its self-noise,
which also holds its rounding), or the exact function's. A contender that computes in less than float32
cannot vouch for itself: its self-noise counts up to CAP times the exact response. What computes in a coarser format
on purpose is judged by that format's own rounding (`FORMATS`). See docs/concepts/certificate.md for the reasons and the
measured head-room.
"""

import sys
from dataclasses import dataclass
from math import sqrt
from typing import Sequence

import numpy as np

from photofinish.measure.moved import ULPS

UNIT = 2.0 ** -23  # one unit in the last place of float32, relative
NOISE = ULPS * UNIT  # the move of the perturbed draws
FLOOR = 4 * UNIT  # rounding of a result that the move happens not to disturb; of a sum, times sqrt(terms)
KINKS = 2.0  # times the exact response: rounding may tip two ReLUs over that the draws tipped one at a time
SMALL_INPUTS = 8.0  # an eighth in root mean square
CAP = 4.0  # measured for float32: self-noise is 0.9 to 1.2 times the exact response
COARSER = 2.0 ** 29  # a unit in the last place of float32 over one of float64
LANES = 8  # sums of float32 that a vector unit adds up side by side: of AVX2, the narrowest of this field
ZERO = 2.0 ** -38  # of the layer's loudest: what float64 leaves of an exact zero at most, thousands of roundings
INFINITE = sys.float_info.max  # the error of what cannot be compared; JSON has no infinity


@dataclass(frozen=True)
class Format:
    """The rounding that results are judged by: `noise`, the relative move of the reference's draws; `floor`, what is
    allowed in any case to a result that no move disturbs; `stored`, the rounding of each value that a sum in float32
    is made of; `cancelled`, what is left of a gradient that is exactly zero, on the scale of its layer's loudest. Where
    its steps are `equal`, the move is a share of the range of a tensor, not of each value."""

    name: str
    noise: float
    floor: float
    stored: float
    cancelled: float
    equal: bool = False

    def of_sum(self, terms: int) -> float:
        """The relative error of a sum of so many terms, kept in float32."""
        return self.stored + FLOOR * sqrt(terms)

    def of_mean(self, terms: int) -> float:
        """The relative error of a mean of so many terms of one sign, added one after another in float32: three standard
        deviations of a walk whose steps are roundings to nearest of a sum that grows."""
        return max(self.floor, self.stored + UNIT / 2 * sqrt(terms))

    def of_equal(self, terms: int) -> float:
        """The relative error of a sum of so many equal terms beside one larger than all of them: their roundings are
        alike, each of up to half a unit in the last place, and add up in each lane."""
        return self.stored + UNIT / 2 * terms / LANES


def coarse(name: str, bits: int) -> Format:
    """A format with so many explicit bits of mantissa: everything is one rounding to nearest, half a unit in the last
    place. What cancels is a sum of rounded terms, and the loudest gradient one of these times inputs, which may be
    small."""
    unit = 2.0 ** -(bits + 1)
    return Format(name, unit, unit, unit, SMALL_INPUTS * unit)


def integer(name: str, bits: int) -> Format:
    """A format that divides the range of a tensor into equal steps, 2**bits - 1 of them: the move is half of one. What
    no move disturbs is in float32, and so would gradients be: nothing is learnt in such steps."""
    return Format(name, 0.5 / (2 ** bits - 1), FLOOR, 0.0, NOISE, equal=True)


APPROXIMATED = "approximated"  # what is sent of gradients is no rounding of them
FLOAT32 = Format("float32", NOISE, FLOOR, 0.0, NOISE)
FORMATS = {each.name: each for each in (
    FLOAT32, coarse("bfloat16", 7), coarse("float16", 10), coarse("TF32", 10), integer("int8", 8))}


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
        return badness(self.error, self.allowed)


def badness(error: float, allowed: float) -> float:
    """Error over allowed error; two exact zeros are as good as can be."""
    return error / allowed if allowed else (INFINITE if error else 0.0)


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
    own_response = response(contender) if len(contender) > 1 else 0.0  # a coarse format's draws are the reference's
    allowed = max(floor, KINKS * exact_response, min(own_response, CAP * exact_response))
    return Comparison(group, tensor, size(np.subtract(plain, exact, dtype=np.float64)), allowed, scale)
