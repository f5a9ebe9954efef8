"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._keras.use import Rules

RULES: Rules = {
    layers.Linear: lambda use: [use.keras("Dense", use.layer.features, use_bias=None if use.layer.bias else False)],
    layers.Embedding: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features)],
    layers.EmbeddingBag: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features),
                                      "ops.sum({0}, axis=1)"],
    layers.MatMul: lambda use: ["ops.matmul({0}, {1})"],
    layers.PairwiseDots: lambda use: ["pairwise_dots({0})"],
    layers.ClassToken: lambda use: [call("ClassToken", use.spec.size("C"), name=use.name) + "({0})"],
    layers.LearnedPositions: lambda use: [
        call("LearnedPositions", use.layer.length, use.spec.size("C"), name=use.name) + "({0})"],
    layers.SinusoidalPositions: lambda use: [call("{0} + sinusoids", *use.spec.shape)],
}

LOWERED = {
    layers.EmbeddingBag: "an Embedding, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by ops.matmul, then those below the diagonal by an index",
    layers.ClassToken: "a layer with a weight and ops.concatenate",
    layers.LearnedPositions: "a layer with a weight and a sum",
    layers.SinusoidalPositions: "a constant table and a sum",
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
    "ClassToken": '''
class ClassToken(layers.Layer):
    """A learned vector in front of a sequence."""

    def __init__(self, features, **options):
        super().__init__(**options)
        self.weight = self.add_weight(shape=(features,), initializer="zeros", name="weight")

    def call(self, x):
        token = ops.broadcast_to(self.weight, (ops.shape(x)[0], 1, x.shape[2]))
        return ops.concatenate([token, x], axis=1)
''',
    "LearnedPositions": '''
class LearnedPositions(layers.Layer):
    """Adds a learned vector to each position."""

    def __init__(self, length, features, **options):
        super().__init__(**options)
        initializer = keras.initializers.RandomNormal(stddev=0.02)
        self.weight = self.add_weight(shape=(length, features), initializer=initializer, name="weight")

    def call(self, x):
        return x + self.weight[:x.shape[1]]
''',
    "sinusoids": '''
def sinusoids(length, features):
    """Sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi: a constant."""
    angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
    table = np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(length, features)
    return table.astype(keras.config.floatx())
''',
}
