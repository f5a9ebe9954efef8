"""Products with a weight, and tables that are looked up or added."""

from typing import Optional, Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use


def linear(use: Use, x: np.ndarray) -> Ruled:
    weight = use.parameters["weight"]
    y = x @ weight.T
    if use.layer.bias:
        y = y + use.parameters["bias"]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        rows = gradient.reshape(-1, gradient.shape[-1])
        use.gradients["weight"] = rows.T @ x.reshape(-1, x.shape[-1])
        use.gradients["bias"] = rows.sum(0)
        return (gradient @ weight,)

    return y, pull


def embedding(use: Use, ids: np.ndarray) -> Ruled:
    weight = use.parameters["weight"]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        use.gradients["weight"] = np.zeros_like(weight)
        np.add.at(use.gradients["weight"], ids, gradient)
        return (None,)

    return weight[ids], pull


RULES: Rules = {layers.Linear: linear, layers.Embedding: embedding}
