"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._paddle.native import Native, Rules, module, plain, write
from photofinish.layers import Spec


def _linear(layer: layers.Linear, spec: Spec) -> Native:
    return module("nn.Linear", spec.size("C"), layer.features, bias_attr=None if layer.bias else False)


def tied_linear(layer: layers.Linear, spec: Spec) -> Native:
    """Of a weight that is a table of embeddings, too: Paddle's own Linear keeps it turned round."""
    return module("TiedLinear", spec.size("C"), layer.features, bias=None if layer.bias else False)


RULES: Rules = {
    layers.Linear: _linear,
    layers.Embedding: lambda layer, spec: module("nn.Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "paddle.sum({self}({0}), 1)", write("nn.Embedding", layer.vocabulary, layer.features)),
    layers.MatMul: plain("paddle.bmm({0}, {1})"),
    layers.PairwiseDots: lambda layer, spec: module("PairwiseDots", spec.size("T")),
    layers.ClassToken: lambda layer, spec: module("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: module("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: lambda layer, spec: module("SinusoidalPositions", *spec.shape),
}

LOWERED = {
    layers.EmbeddingBag: "an embedding and a sum: Paddle ships no bag",
    layers.PairwiseDots: "all dot products by paddle.bmm, then those below the diagonal by paddle.index_select",
    layers.ClassToken: "a layer with a parameter and paddle.concat",
    layers.LearnedPositions: "a layer with a parameter and a sum",
    layers.SinusoidalPositions: "a layer with a constant table and a sum",
}
LIMITS = {layers.Linear: "with the weight of an embedding it is paddle.matmul: nn.Linear keeps its weight turned round"}

HELPERS = {
    "TiedLinear": '''\
class TiedLinear(nn.Layer):
    """A linear layer whose weight has a row for each output, as a table of embeddings has."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = self.create_parameter([out_features, in_features])
        self.bias = self.create_parameter([out_features], is_bias=True) if bias else None

    def forward(self, x):
        x = paddle.matmul(x, self.weight, transpose_y=True)
        return x if self.bias is None else x + self.bias
''',
    "PairwiseDots": '''\
class PairwiseDots(nn.Layer):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""

    def __init__(self, vectors):
        super().__init__()
        pairs = [row * vectors + column for row in range(vectors) for column in range(row)]
        self.register_buffer("pairs", paddle.to_tensor(pairs), persistable=False)

    def forward(self, x):
        dots = paddle.bmm(x, paddle.transpose(x, (0, 2, 1)))
        return paddle.index_select(paddle.flatten(dots, 1), self.pairs, 1)
''',
    "ClassToken": '''\
class ClassToken(nn.Layer):
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        super().__init__()
        self.weight = self.create_parameter([features], is_bias=True)

    def forward(self, x):
        token = paddle.expand(self.weight, [x.shape[0], 1, self.weight.shape[0]])
        return paddle.concat((token, x), 1)
''',
    "LearnedPositions": '''\
class LearnedPositions(nn.Layer):
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        super().__init__()
        self.weight = self.create_parameter([length, features])

    def forward(self, x):
        return x + self.weight[:x.shape[1]]
''',
    "SinusoidalPositions": '''\
class SinusoidalPositions(nn.Layer):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""

    def __init__(self, length, features):
        super().__init__()
        rates = 1e4 ** (paddle.arange(0, features, 2, dtype="float64") / -features)
        angles = paddle.arange(length, dtype="float64").unsqueeze(1) * rates
        table = paddle.flatten(paddle.stack((paddle.sin(angles), paddle.cos(angles)), 2), 1)
        self.register_buffer("table", table.astype("float32"), persistable=False)

    def forward(self, x):
        return x + self.table
''',
}
