"""What one sequence takes from another."""

from typing import Optional, Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use


def attention(use: Use, query: np.ndarray, key: np.ndarray, value: np.ndarray,
              mask: Optional[np.ndarray] = None) -> Ruled:
    def split(x: np.ndarray) -> np.ndarray:  # (batch, T, C) -> (batch, heads, T, C / heads)
        return x.reshape(x.shape[:2] + (use.layer.heads, -1)).swapaxes(1, 2)

    def joined(x: np.ndarray) -> np.ndarray:
        return x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)

    q, k, v = split(query), split(key), split(value)
    share = q.shape[3] ** -0.5
    seen = np.ones((query.shape[1], key.shape[1]), bool)
    if use.layer.causal:
        seen = np.tril(seen)
    if mask is not None:
        seen = seen & mask[:, None, None]
    logits = np.where(seen, share * (q @ k.swapaxes(2, 3)), -np.inf)
    weight = np.exp(logits - logits.max(3, keepdims=True))
    weight /= weight.sum(3, keepdims=True)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        gradient = split(gradient)
        wanted = gradient @ v.swapaxes(2, 3)
        slope = share * weight * (wanted - (wanted * weight).sum(3, keepdims=True))
        found = (joined(slope @ k), joined(slope.swapaxes(2, 3) @ q), joined(weight.swapaxes(2, 3) @ gradient))
        return found if mask is None else found + (None,)

    return joined(weight @ v), pull


def additive_attention(use: Use, query: np.ndarray, key: np.ndarray, value: np.ndarray,
                       mask: Optional[np.ndarray] = None) -> Ruled:
    length = np.linalg.norm(use.parameters["weight"])
    direction, scale = use.parameters["weight"] / length, use.parameters["scale"]
    felt = np.tanh(query[:, :, None] + key[:, None] + use.parameters["bias"])  # (batch, queries, keys, C)
    logits = felt @ (scale * direction)
    if mask is not None:
        logits = np.where(mask[:, None], logits, -np.inf)
    share = np.exp(logits - logits.max(2, keepdims=True))
    share /= share.sum(2, keepdims=True)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        wanted = gradient @ value.swapaxes(1, 2)
        slope = share * (wanted - (wanted * share).sum(2, keepdims=True))
        to_vector = np.tensordot(slope, felt, 3)  # of scale * direction
        along = to_vector @ direction
        use.gradients["scale"] = np.array([along])
        use.gradients["weight"] = scale * (to_vector - along * direction) / length
        to_sum = slope[..., None] * (scale * direction) * (1 - felt * felt)
        use.gradients["bias"] = to_sum.sum((0, 1, 2))
        found = (to_sum.sum(2), to_sum.sum(1), share.swapaxes(1, 2) @ gradient)
        return found if mask is None else found + (None,)

    return share @ value, pull


RULES: Rules = {layers.Attention: attention, layers.AdditiveAttention: additive_attention}
