"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._mindspore.native import Native, Rules, call, cell, plain

RULES: Rules = {
    layers.Linear: lambda layer, spec: cell(
        "nn.Dense", spec.size("C"), layer.features, has_bias=None if layer.bias else False),
    layers.Embedding: lambda layer, spec: cell("nn.Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "ops.sum({self}({0}), 1)", call("nn.Embedding", layer.vocabulary, layer.features)),
    layers.MatMul: plain("ops.bmm({0}, {1})"),
    layers.PairwiseDots: lambda layer, spec: cell("PairwiseDots", spec.size("T")),
    layers.ClassToken: lambda layer, spec: cell("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: cell("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: lambda layer, spec: cell("SinusoidalPositions", *spec.shape),
}

LOWERED = {
    layers.EmbeddingBag: "an embedding and a sum: MindSpore ships no bag",
    layers.PairwiseDots: "all dot products by ops.bmm, then those below the diagonal by ops.gather",
    layers.ClassToken: "a cell with a parameter and ops.cat",
    layers.LearnedPositions: "a cell with a parameter and a sum",
    layers.SinusoidalPositions: "a cell with a constant table and a sum",
}

HELPERS = {
    "PairwiseDots": '''\
class PairwiseDots(nn.Cell):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""

    def __init__(self, vectors):
        super().__init__()
        rows, columns = np.tril_indices(vectors, -1)
        self.pairs = Tensor(rows * vectors + columns, ms.int32)

    def construct(self, x):
        dots = ops.bmm(x, ops.transpose(x, (0, 2, 1)))
        return ops.gather(ops.flatten(dots), self.pairs, 1)
''',
    "ClassToken": '''\
class ClassToken(nn.Cell):
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        super().__init__()
        self.weight = Parameter(initializer("zeros", [features]), "weight")

    def construct(self, x):
        token = ops.broadcast_to(self.weight, (x.shape[0], 1, x.shape[2]))
        return ops.cat((token, x), 1)
''',
    "LearnedPositions": '''\
class LearnedPositions(nn.Cell):
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        super().__init__()
        self.weight = Parameter(initializer(Normal(0.02), [length, features]), "weight")

    def construct(self, x):
        return x + self.weight[:x.shape[1]]
''',
    "SinusoidalPositions": '''\
class SinusoidalPositions(nn.Cell):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""

    def __init__(self, length, features):
        super().__init__()
        angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
        table = np.stack((np.sin(angles), np.cos(angles)), 2).reshape(length, features)
        self.table = Tensor(table, ms.float32)

    def construct(self, x):
        return x + self.table
''',
}
