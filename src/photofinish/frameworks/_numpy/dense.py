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


def embedding_bag(use: Use, ids: np.ndarray) -> Ruled:
    weight = use.parameters["weight"]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        use.gradients["weight"] = np.zeros_like(weight)
        np.add.at(use.gradients["weight"], ids, gradient[:, None])
        return (None,)

    return weight[ids].sum(1), pull


def matmul(use: Use, matrix: np.ndarray, x: np.ndarray) -> Ruled:
    return matrix @ x, lambda gradient: (gradient @ x.swapaxes(1, 2), matrix.swapaxes(1, 2) @ gradient)


def pairwise_dots(use: Use, x: np.ndarray) -> Ruled:
    rows, columns = np.tril_indices(x.shape[1], -1)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        pairs = np.zeros((len(x), x.shape[1], x.shape[1]), x.dtype)
        pairs[:, rows, columns] = gradient
        return ((pairs + pairs.swapaxes(1, 2)) @ x,)

    return (x @ x.swapaxes(1, 2))[:, rows, columns], pull


def class_token(use: Use, x: np.ndarray) -> Ruled:
    token = np.broadcast_to(use.parameters["weight"], (len(x), 1, x.shape[2]))

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        use.gradients["weight"] = gradient[:, 0].sum(0)
        return (gradient[:, 1:],)

    return np.concatenate((token, x), 1), pull


def learned_positions(use: Use, x: np.ndarray) -> Ruled:
    weight, length = use.parameters["weight"], x.shape[1]

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        use.gradients["weight"] = np.zeros_like(weight)
        use.gradients["weight"][:length] = gradient.sum(0)
        return (gradient,)

    return x + weight[:length], pull


def sinusoidal_positions(use: Use, x: np.ndarray) -> Ruled:
    return x + np.array(use.layer.table(*x.shape[1:]), x.dtype), lambda gradient: (gradient,)


RULES: Rules = {
    layers.Linear: linear, layers.Embedding: embedding, layers.EmbeddingBag: embedding_bag, layers.MatMul: matmul,
    layers.PairwiseDots: pairwise_dots,
    layers.ClassToken: class_token, layers.LearnedPositions: learned_positions,
    layers.SinusoidalPositions: sinusoidal_positions,
}
