"""What the windows of a convolution or pool ask of the padding."""

from typing import Optional, Sequence, Tuple

import numpy as np

from photofinish.frameworks._common.text import call, square
from photofinish.frameworks._common.windows import Amounts, amounts
from photofinish.frameworks._keras.use import Printed, Use


def padding(use: Use, dilation: Sequence[int] = (1, 1)) -> Tuple[Optional[str], Amounts]:
    """The amounts ((top, bottom), (left, right)) to pad, and Keras' `padding` option: "same" where that is
    exactly these amounts."""
    found = amounts(use.layer, use.spec, use.out, dilation)
    same = []
    for axis, letter in enumerate("HW"):
        size, count, total = use.spec.size(letter), use.out.size(letter), sum(found[axis])
        same.append(count == -(-size // use.layer.stride[axis]) and found[axis] == (total // 2, total - total // 2))
    return "same" if all(same) and np.any(found) else None, found


def zero_padding(use: Use, amounts: Amounts) -> Printed:
    if not np.any(amounts):
        return []
    (top, bottom), (left, right) = amounts
    size = square((top, left)) if (top, left) == (bottom, right) else amounts
    return [call("layers.ZeroPadding2D", size, name=use.name + ".padding") + "({0})"]
