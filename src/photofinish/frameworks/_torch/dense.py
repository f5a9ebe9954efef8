"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, plain, write

RULES: Rules = {
    layers.Linear: lambda layer, spec: Native(
        "{self}({0})", write("nn.Linear", spec.size("C"), layer.features, bias=layer.bias)),
    layers.Embedding: lambda layer, spec: Native(
        "{self}({0})", write("nn.Embedding", layer.vocabulary, layer.features)),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "{self}({0})", write("nn.EmbeddingBag", layer.vocabulary, layer.features, mode="sum")),
    layers.MatMul: plain("torch.bmm({0}, {1})"),
    layers.PairwiseDots: lambda layer, spec: Native("{self}({0})", write("PairwiseDots", spec.size("T"))),
}

LOWERED = {layers.PairwiseDots: "all dot products by torch.bmm, then those below the diagonal by an index"}

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
}
