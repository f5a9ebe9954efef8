"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._keras.use import Rules

RULES: Rules = {
    layers.Linear: lambda use: [use.keras("Dense", use.layer.features, use_bias=None if use.layer.bias else False)],
    layers.Embedding: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features)],
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
}
