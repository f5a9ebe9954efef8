"""What the windows of a convolution or pool ask of the padding."""

from typing import List, Optional, Sequence, Tuple

import numpy as np

from photofinish.frameworks._keras.use import Printed, Use, call, square

Amounts = Tuple[Tuple[int, int], Tuple[int, int]]


def padding(use: Use, dilation: Sequence[int] = (1, 1)) -> Tuple[Optional[str], Amounts]:
    """The amounts ((top, bottom), (left, right)) to pad, and Keras' `padding` option: "same" where that is
    exactly these amounts.

    Trailing padding is what the windows read: rows that none reads are left out, and those that a last
    window reads beyond the layer's own padding (ceil) are put in.
    """
    amounts: List[Tuple[int, int]] = []
    same = []
    for axis, letter in enumerate("HW"):
        size, count, stride = use.spec.size(letter), use.out.size(letter), use.layer.stride[axis]
        span = (count - 1) * stride + dilation[axis] * (use.layer.kernel[axis] - 1) + 1
        first = use.layer.padding[axis]
        amounts.append((first, max(0, span - first - size)))
        total = max(0, span - size)
        same.append(count == -(-size // stride) and amounts[axis] == (total // 2, total - total // 2))
    return "same" if all(same) and np.any(amounts) else None, (amounts[0], amounts[1])


def zero_padding(use: Use, amounts: Amounts) -> Printed:
    if not np.any(amounts):
        return []
    (top, bottom), (left, right) = amounts
    size = square((top, left)) if (top, left) == (bottom, right) else amounts
    return [call("layers.ZeroPadding2D", size, name=use.name + ".padding") + "({0})"]
