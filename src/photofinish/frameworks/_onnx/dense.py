"""Products with a weight, and tables that are looked up or added."""

import numpy as np

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use, plain


def _linear(use: Use, x: str) -> str:
    bias = (use.weight("bias"),) if use.layer.bias else ()
    if use.specs[0].axes == "C":
        return use("Gemm", x, use.weight("weight"), *bias, transB=1)
    y = use("MatMul", x, use.transposed("weight"))
    return use("Add", y, *bias) if bias else y


def _embedding(use: Use, ids: str) -> str:
    return use("Gather", use.weight("weight"), ids, axis=0)


def _pairwise_dots(use: Use, x: str) -> str:
    count = use.specs[0].size("T")
    rows, columns = np.tril_indices(count, -1)
    dots = use("Reshape", use("MatMul", x, use.permuted(x, "TC", "CT")), use.integers(0, -1))
    return use("Gather", dots, use.constant(rows * count + columns, "int64"), axis=1)


def _class_token(use: Use, x: str) -> str:
    token = use("Expand", use.weight("weight"), use.integers(use.program.batch, 1, 1))
    return use("Concat", token, x, axis=1)


def _learned_positions(use: Use, x: str) -> str:
    table, used = use.weight("weight"), use.specs[0].size("T")
    if used < use.layer.length:
        table = use("Slice", table, use.integers(0), use.integers(used), use.integers(0))
    return use("Add", x, table)


RULES: Rules = {
    layers.Linear: _linear,
    layers.Embedding: _embedding,
    layers.EmbeddingBag: lambda use, ids: use("ReduceSum", _embedding(use, ids), use.integers(1), keepdims=0),
    layers.MatMul: plain("MatMul"),
    layers.PairwiseDots: _pairwise_dots,
    layers.ClassToken: _class_token,
    layers.LearnedPositions: _learned_positions,
    layers.SinusoidalPositions: lambda use, x: use("Add", x, use.constant(use.layer.table(*use.specs[0].shape))),
}

LOWERED = {
    layers.EmbeddingBag: "Gather, which writes every row out, and ReduceSum",
    layers.PairwiseDots: "all dot products by MatMul, then those below the diagonal by Gather",
    layers.ClassToken: "Expand and Concat",
    layers.LearnedPositions: "a sum with a table, or with its first rows",
    layers.SinusoidalPositions: "a sum with a constant table",
}
LIMITS = {
    layers.Linear: "MatMul and Add where there are positions; the matrix is transposed in the file, or by an operation "
                   "where it is the table of an embedding too",
}
