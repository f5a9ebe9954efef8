"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._pytensor.native import Native, Rules, part, plain

RULES: Rules = {
    layers.Linear: lambda layer, spec: part("Linear", spec.size("C"), layer.features,
                                            bias=None if layer.bias else False),
    layers.Embedding: lambda layer, spec: part("Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "{self}({0}).sum(axis=1)", call("Embedding", layer.vocabulary, layer.features)),
    layers.MatMul: plain("pt.matmul({0}, {1})"),
    layers.PairwiseDots: plain("pairwise_dots({0})"),
    layers.ClassToken: lambda layer, spec: part("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: part("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: lambda layer, spec: Native("{0} + sinusoids(%d, %d)" % spec.shape),
}

LOWERED = {
    layers.EmbeddingBag: "rows of a table, then a sum",
    layers.PairwiseDots: "all dot products by pt.matmul, then those below the diagonal",
    layers.ClassToken: "a parameter and pt.concatenate",
    layers.LearnedPositions: "a parameter and a sum",
    layers.SinusoidalPositions: "a constant table and a sum",
}

HELPERS = {
    "Linear": '''\
class Linear:
    """A product with a weight (outputs, inputs), and a sum."""

    def __init__(self, inputs, outputs, bias=True):
        self.weight, self.bias = drawn(outputs, inputs, inputs=inputs), zeros(outputs) if bias else None

    def __call__(self, x):
        y = pt.dot(x, self.weight.T)
        return y if self.bias is None else y + self.bias
''',
    "Embedding": '''\
class Embedding:
    """Looks up the rows of a table."""

    def __init__(self, vocabulary, features):
        self.weight = drawn(vocabulary, features)

    def __call__(self, x):
        return self.weight[x]
''',
    "pairwise_dots": '''\
def pairwise_dots(x):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""
    rows, columns = np.tril_indices(x.type.shape[1], -1)
    return pt.matmul(x, x.transpose(0, 2, 1))[:, rows, columns]
''',
    "ClassToken": '''\
class ClassToken:
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        self.weight = zeros(features)

    def __call__(self, x):
        token = pt.zeros((x.shape[0], 1, 1), dtype="float32") + self.weight
        return pt.concatenate([token, x], axis=1)
''',
    "LearnedPositions": '''\
class LearnedPositions:
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        self.weight = drawn(length, features, inputs=2500)

    def __call__(self, x):
        return x + self.weight[:x.shape[1]]
''',
    "sinusoids": '''\
def sinusoids(length, features):
    """Sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""
    angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
    return np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, features).astype(np.float32)
''',
}
