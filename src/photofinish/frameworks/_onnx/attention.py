"""What one sequence takes from another."""

from typing import Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use


def _masked(use: Use, scores: str, mask: str, axes: Sequence[int]) -> str:
    """Scores with minus infinity at the keys that may not be seen; `axes` are those that the mask lacks."""
    seen = use("Unsqueeze", mask, use.integers(*axes))
    return use("Add", scores, use("Where", seen, use.constant(0.0), use.constant(-np.inf)))


def _attention(use: Use, query: str, key: str, value: str, *masks: str) -> str:
    query_spec, key_spec = use.specs[:2]

    def heads(x: str, axes: str) -> str:  # (batch, T, C) -> (batch, head, ...), with D a head's share of C
        return use.permuted(use("Reshape", x, use.integers(0, 0, use.layer.heads, -1)), "THD", axes)

    share = (query_spec.size("C") // use.layer.heads) ** -0.5
    scores = use("MatMul", use("Mul", heads(query, "HTD"), use.constant(share)), heads(key, "HDT"))
    if use.layer.causal:
        later = np.triu(np.ones((query_spec.size("T"), key_spec.size("T")), bool), 1)
        scores = use("Add", scores, use.constant(np.where(later, -np.inf, 0.0)))
    for mask in masks:
        scores = _masked(use, scores, mask, (1, 2))
    y = use("MatMul", use("Softmax", scores, axis=-1), heads(value, "HTD"))
    return use("Reshape", use.permuted(y, "HTD", "THD"), use.integers(0, 0, -1))


def _additive_attention(use: Use, query: str, key: str, value: str, *masks: str) -> str:
    def vector(weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
        return np.asarray(scale * weight / np.linalg.norm(weight))

    felt = use("Tanh", use("Add", use("Unsqueeze", query, use.integers(2)),
                           use("Unsqueeze", use("Add", key, use.weight("bias")), use.integers(1))))
    scores = use("MatMul", felt, use.made("vector", vector, "weight", "scale"))
    for mask in masks:
        scores = _masked(use, scores, mask, (1,))
    return use("MatMul", use("Softmax", scores, axis=-1), value)


RULES: Rules = {layers.Attention: _attention, layers.AdditiveAttention: _additive_attention}

LOWERED = {
    layers.Attention: "MatMul, Softmax and MatMul, as exporters write it: the operator is of opset 23",
    layers.AdditiveAttention: "Tanh, MatMul, Softmax and MatMul; the vector is given its length in the file",
}
