"""NeuMF, neural matrix factorisation: He et al. 2017, "Neural Collaborative Filtering" (arXiv 1708.05031).

Sizes, optimizer, learning rate and batch are those of MLPerf Training v0.5: 64 factors, a multilayer perceptron
256-256-128-64, on the users and items of MovieLens 20M or 1M. NVIDIA's version drops half of what each layer of the
perceptron gives; the paper and MLPerf drop nothing, nor does this. Users, items and labels are drawn, not MovieLens':
ids by Zipf's law, so that they repeat, and as many hits as misses, where MLPerf has four misses of even items to a hit.
Tables start with a deviation of 1, MLPerf's with 0.01.
The tables of the factors take no part in a product with a weight, so that 106,624 multiply-accumulates are left of the
106,688 that are counted where the 64 products of a user's and an item's factors are taken for such.
"""

from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import BinaryCrossEntropy, Spec
from photofinish.optimizers import Adam
from photofinish.vocabulary import concat, embedding, linear, relu, scope

ID = Spec("", (), "int32")
FACTS: Any = {
    "inputs": (("user", ID), ("item", ID)), "classes": None, "objective": BinaryCrossEntropy(),
    "task": "recommendation", "unit": "samples", "batch": 2048, "source": "arXiv 1708.05031",
    "optimizer": Adam(learning_rate=5e-4),
    "reduced": {"users": 60, "items": 40, "factors": 8, "widths": (16, 16, 8)},
}


@models.model("ncf_ml_20m", arguments={"users": 138_493, "items": 26_744}, **FACTS)
@models.model("ncf_ml_1m", arguments={"users": 6_040, "items": 3_706}, **FACTS)
def ncf(user: Tensor, item: Tensor, users: int, items: int, factors: int = 64,
        widths: Tuple[int, ...] = (256, 256, 128, 64)) -> Tensor:
    """Two models side by side, each with tables of its own; `widths` starts with the perceptron's input."""
    with scope("factorisation"):
        products = embedding(user, users, factors, name="users") * embedding(item, items, factors, name="items")
    with scope("perceptron"):
        half = widths[0] // 2
        x = concat(embedding(user, users, half, name="users"), embedding(item, items, half, name="items"))
        for width in widths[1:]:
            x = relu(linear(x, width))
    return linear(concat(products, x), 1)
