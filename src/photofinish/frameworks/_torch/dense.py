"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._torch.native import Rules, module, plain

RULES: Rules = {
    layers.Linear: lambda layer, spec: module("nn.Linear", spec.size("C"), layer.features, bias=layer.bias),
    layers.Embedding: lambda layer, spec: module("nn.Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: module("nn.EmbeddingBag", layer.vocabulary, layer.features, mode="sum"),
    layers.MatMul: plain("torch.bmm({0}, {1})"),
    layers.PairwiseDots: lambda layer, spec: module("PairwiseDots", spec.size("T")),
    layers.ClassToken: lambda layer, spec: module("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: module("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: lambda layer, spec: module("SinusoidalPositions", *spec.shape),
}

LOWERED = {
    layers.PairwiseDots: "all dot products by torch.bmm, then those below the diagonal by an index",
    layers.ClassToken: "a module with a parameter and torch.cat",
    layers.LearnedPositions: "a module with a parameter and a sum",
    layers.SinusoidalPositions: "a module with a constant table and a sum",
}

HELPERS = {
    "PairwiseDots": '''\
class PairwiseDots(nn.Module):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""

    def __init__(self, vectors):
        super().__init__()
        self.register_buffer("pairs", torch.tril_indices(vectors, vectors, -1), persistent=False)

    def forward(self, x):
        rows, columns = self.pairs
        return torch.bmm(x, x.transpose(1, 2))[:, rows, columns]
''',
    "ClassToken": '''\
class ClassToken(nn.Module):
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return torch.cat((self.weight.expand(x.shape[0], 1, -1), x), 1)
''',
    "LearnedPositions": '''\
class LearnedPositions(nn.Module):
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        super().__init__()
        self.weight = nn.Parameter(0.02 * torch.randn(length, features))

    def forward(self, x):
        return x + self.weight[:x.shape[1]]
''',
    "SinusoidalPositions": '''\
class SinusoidalPositions(nn.Module):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""

    def __init__(self, length, features):
        super().__init__()
        rates = 1e4 ** (torch.arange(0, features, 2, dtype=torch.float64) / -features)
        angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
        table = torch.stack((angles.sin(), angles.cos()), 2).flatten(1)
        self.register_buffer("table", table, persistent=False)  # exact until the model is given its precision

    def forward(self, x):
        return x + self.table.to(x.dtype)
''',
}
