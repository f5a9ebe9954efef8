"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._tinygrad.native import Native, Rules, module, plain

RULES: Rules = {
    layers.Linear: lambda layer, spec: module(
        "nn.Linear", spec.size("C"), layer.features, bias=None if layer.bias else False),
    layers.Embedding: lambda layer, spec: module("nn.Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "{self}({0}).sum(1)", call("nn.Embedding", layer.vocabulary, layer.features)),
    layers.MatMul: plain("{0}.matmul({1})"),
    layers.PairwiseDots: plain("pairwise_dots({0})"),
    layers.ClassToken: lambda layer, spec: module("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: module("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: plain("add_sinusoids({0})"),
}

LOWERED = {
    layers.EmbeddingBag: "an nn.Embedding, then a sum",
    layers.PairwiseDots: "all dot products by a matrix product, then those below the diagonal by slices",
    layers.ClassToken: "a parameter and Tensor.cat",
    layers.LearnedPositions: "a parameter and a sum",
    layers.SinusoidalPositions: "a constant table and a sum",
}
LIMITS = {layers.Embedding: "nn.Embedding compares each id with every row of the table, and adds up what is left"}

HELPERS = {
    "pairwise_dots": '''\
def pairwise_dots(x):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""
    dots = x @ x.transpose(1, 2)
    return dots[:, 1, :1].cat(*(dots[:, row, :row] for row in range(2, x.shape[1])), dim=1)
''',
    "ClassToken": '''\
class ClassToken:
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        self.weight = Tensor.zeros(features)

    def __call__(self, x):
        return self.weight.expand(x.shape[0], 1, -1).cat(x, dim=1)
''',
    "LearnedPositions": '''\
class LearnedPositions:
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        self.weight = 0.02 * Tensor.randn(length, features)

    def __call__(self, x):
        return x + self.weight[:x.shape[1]]
''',
    "add_sinusoids": '''\
def add_sinusoids(x):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""
    length, features = x.shape[1:]
    angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
    table = np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, features)
    return x + Tensor(table.astype(np.float32))
''',
}
