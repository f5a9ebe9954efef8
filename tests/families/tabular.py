"""Layers of models of tables and graphs: bags of ids, dot products of pairs, products with a matrix, yes or no."""

from collections.abc import Callable

import numpy as np
from scipy import special

from families.common import Case, between, head
from photofinish import layers
from photofinish.graph import Tensor, loss, record
from photofinish.layers import BinaryCrossEntropy, Spec
from photofinish.vocabulary import (
    concat,
    conv,
    embedding,
    embedding_bag,
    flatten,
    linear,
    matmul,
    pairwise_dots,
    stack,
    tanh,
)

ID = Spec("", (), "int32")
BAG = {"ids": Spec("T", (7,), "int32")}
PAIR = {"user": ID, "item": ID}
VECTOR = {"vector": Spec("C", (6,))}
SEQUENCE = {"sequence": Spec("TC", (5, 6))}
IMAGE = {"image": Spec("CHW", (4, 7, 5))}

# What is done to a vector of 6, or to 5 steps of 6, that came out of a Linear.
ON_VECTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "stack": lambda x: stack(x, tanh(x), linear(x, 6)),
    "stack-itself": lambda x: stack(x, x),
    "pairwise-dots-of-two": lambda x: pairwise_dots(stack(x, linear(x, 6))),
}
ON_SEQUENCES: dict[str, Callable[[Tensor], Tensor]] = {"pairwise-dots": pairwise_dots}


def bag(ids: Tensor) -> tuple[Tensor, ...]:
    x = embedding_bag(ids, 11, 6, name="table")
    return x, head(x)


def rows(ids: Tensor) -> tuple[Tensor, ...]:
    """A row of a table for each step of a sequence."""
    x = embedding(ids, 11, 6, name="table")
    return x, head(tanh(x))


def factors(user: Tensor, item: Tensor) -> tuple[Tensor, ...]:
    """Single ids, one per sample."""
    x = embedding(user, 9, 6) * embedding(item, 5, 6)
    return x, head(x)


def neighbours(matrix: Tensor, sequence: Tensor) -> tuple[Tensor, ...]:
    x = matmul(tanh(matrix), linear(sequence, 4, name="entry"))
    return x, head(x)


def decided(x: Tensor) -> tuple[Tensor, ...]:
    """A yes or no for each value of the tensor."""
    loss(BinaryCrossEntropy(), x, "label", Spec(x.spec.axes, x.shape), weight=0.7)
    return (x,)


def cases() -> dict[str, Case]:
    found = {name: Case(record(between(function, lambda x: linear(x, 6, name="entry")), inputs))
             for table, inputs in ((ON_VECTORS, VECTOR), (ON_SEQUENCES, SEQUENCE))
             for name, function in table.items()}
    found["embedding-bag"] = Case(record(bag, BAG))
    found["embedding"] = Case(record(rows, BAG))
    found["embedding-of-one-id"] = Case(record(factors, PAIR))
    for name, shape in {"matmul": (5, 5), "matmul-rectangular": (4, 5)}.items():
        found[name] = Case(record(neighbours, {"matrix": Spec("TU", shape), **SEQUENCE}))
    found["binary-cross-entropy"] = Case(record(lambda x: decided(linear(x, 4)), VECTOR))
    found["binary-cross-entropy-of-one"] = Case(record(lambda x: decided(linear(x, 1)), VECTOR))
    found["binary-cross-entropy-image"] = Case(record(lambda x: decided(conv(x, 3, 3)), IMAGE))
    found["binary-cross-entropy-far"] = Case(record(lambda x: decided(linear(x, 4)), VECTOR), gain=100.0)
    return found


DEFINITIONS = {
    layers.EmbeddingBag: lambda use, ids: np.array([np.bincount(row, minlength=use.layer.vocabulary)
                                                    for row in ids]) @ use.parameters["weight"],
    layers.Stack: lambda use, *vectors: np.moveaxis(np.array(vectors), 0, 1),
    layers.MatMul: lambda use, matrix, x: np.einsum("ntu,nuc->ntc", matrix, x),
    layers.PairwiseDots: lambda use, x: np.stack([np.sum(x[:, i] * x[:, j], axis=-1)
                                                  for i in range(x.shape[1]) for j in range(i)], 1),
    layers.BinaryCrossEntropy: lambda use, x, label: -(label * special.log_expit(x)
                                                       + (1 - label) * special.log_expit(-x)),
}


def _compact(ids: Tensor, matrix: Tensor, sequence: Tensor) -> Tensor:
    chosen = embedding_bag(ids, 9, 4)
    around = linear(flatten(matmul(matrix, linear(sequence, 4))), 4)
    dots = pairwise_dots(stack(chosen, around, tanh(linear(chosen, 4))))
    logits = linear(concat(chosen, dots), 2)
    loss(BinaryCrossEntropy(), logits, "label", Spec("C", (2,)))
    return logits


COMPACT = record(_compact, {**BAG, "matrix": Spec("TU", (5, 5)), **SEQUENCE})
EQUIVALENT: dict[str, str] = {}
