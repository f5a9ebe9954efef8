"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._keras.use import Rules

RULES: Rules = {
    layers.Linear: lambda use: [use.keras("Dense", use.layer.features, use_bias=None if use.layer.bias else False)],
    layers.Embedding: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features)],
    layers.EmbeddingBag: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features),
                                      "ops.sum({0}, axis=1)"],
    layers.MatMul: lambda use: ["ops.matmul({0}, {1})"],
    layers.PairwiseDots: lambda use: ["pairwise_dots({0})"],
}

LOWERED = {
    layers.EmbeddingBag: "an Embedding, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by ops.matmul, then those below the diagonal by an index",
}

HELPERS = {
    "TiedDense": '''
class TiedDense(layers.Layer):
    """A matrix product with the kernel of another layer, or the transposed table of an embedding."""

    def __init__(self, units, source, use_bias=True, **options):
        super().__init__(**options)
        self.source = source
        self.bias = self.add_weight(shape=(units,), initializer="zeros", name="bias") if use_bias else None

    def call(self, x):
        tied = self.source
        y = ops.matmul(x, ops.transpose(tied.embeddings) if isinstance(tied, layers.Embedding) else tied.kernel)
        return y if self.bias is None else y + self.bias
''',
    "pairwise_dots": '''
def pairwise_dots(x):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""
    count = x.shape[1]
    pairs = np.flatnonzero(np.tri(count, k=-1))
    products = ops.matmul(x, ops.transpose(x, (0, 2, 1)))
    return ops.take(ops.reshape(products, (-1, count * count)), pairs, axis=1)
''',
}
