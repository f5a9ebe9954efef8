"""What the windows of a convolution or pool read."""

from typing import Any, List, Sequence, Tuple

import numpy as np

from photofinish.layers import Spec

Amounts = Tuple[Tuple[int, int], Tuple[int, int]]


def amounts(layer: Any, spec: Spec, out: Spec, dilation: Sequence[int] = (1, 1)) -> Amounts:
    """How much to pad: ((top, bottom), (left, right)).

    Trailing padding is what the windows read: rows that none reads are left out, and those that a last
    window reads beyond the layer's own padding (ceil) are put in.
    """
    found: List[Tuple[int, int]] = []
    for axis, letter in enumerate("HW"):
        span = (out.size(letter) - 1) * layer.stride[axis] + dilation[axis] * (layer.kernel[axis] - 1) + 1
        first = layer.padding[axis]
        found.append((first, max(0, span - first - spec.size(letter))))
    return found[0], found[1]


def shares(layer: Any, spec: Spec, out: Spec) -> List[List[float]]:
    """Of an average pool, down and across: the size of a whole window over the positions that count in each window. 1
    everywhere but at the edges."""
    found = []
    for axis, letter in enumerate("HW"):
        first, last, size = layer.padding[axis], layer.padding[2 + axis], spec.size(letter)
        starts = np.arange(out.size(letter)) * layer.stride[axis] - first
        stops = starts + layer.kernel[axis]
        low, high = (-first, size + last) if layer.count_padding else (0, size)
        found.append((layer.kernel[axis] / (np.minimum(stops, high) - np.maximum(starts, low))).tolist())
    return found
