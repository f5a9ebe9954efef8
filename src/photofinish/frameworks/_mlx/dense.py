"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call
from photofinish.frameworks._mlx.use import Rules, Use, always, module


def _learned_positions(use: Use) -> Native:
    length, size = use.spec.size("T"), use.spec.size("C")
    return Native("{0} + {self}%s" % ("" if length == use.layer.length else "[:%d]" % length),
                  "%r * mx.random.normal((%d, %d))" % (float(use.layer.gain), use.layer.length, size))


RULES: Rules = {
    layers.Linear: lambda use: module(
        "nn.Linear", use.spec.size("C"), use.layer.features, bias=None if use.layer.bias else False),
    layers.Embedding: lambda use: module("nn.Embedding", use.layer.vocabulary, use.layer.features),
    layers.EmbeddingBag: lambda use: Native(
        "mx.sum({self}({0}), axis=1)", call("nn.Embedding", use.layer.vocabulary, use.layer.features)),
    layers.MatMul: always("mx.matmul({0}, {1})"),
    layers.PairwiseDots: lambda use: module("PairwiseDots", use.spec.size("T")),
    layers.ClassToken: lambda use: Native("class_token({self}, {0})", "mx.zeros(%d)" % use.spec.size("C")),
    layers.LearnedPositions: _learned_positions,
    layers.SinusoidalPositions: lambda use: module("SinusoidalPositions", *use.spec.shape),
}

LOWERED = {
    layers.EmbeddingBag: "an nn.Embedding, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by a matrix product, then those below the diagonal by an index",
    layers.ClassToken: "a parameter and mx.concatenate",
    layers.LearnedPositions: "a parameter and a sum",
    layers.SinusoidalPositions: "a constant table and a sum: nn.SinusoidalPositionalEncoding has another order",
}

HELPERS = {
    "TiedLinear": '''\
class TiedLinear(nn.Module):
    """A matrix product with the weight of another module, which is given to it as `_source`: what begins with an
    underscore is no parameter, so the weight is counted and updated once."""

    def __init__(self, features, bias=True):
        super().__init__()
        if bias:
            self.bias = mx.zeros(features)

    def __call__(self, x):
        y = x @ self._source.weight.T
        return y + self.bias if "bias" in self else y
''',
    "TiedEmbedding": '''\
class TiedEmbedding(nn.Module):
    """Looks up the weight of another module, `_source`."""

    def __call__(self, x):
        return self._source.weight[x]
''',
    "PairwiseDots": '''\
class PairwiseDots(nn.Module):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""

    def __init__(self, vectors):
        super().__init__()
        rows, columns = np.tril_indices(vectors, -1)
        self._pairs = mx.array(rows * vectors + columns)

    def __call__(self, x):
        dots = x @ x.swapaxes(1, 2)
        return mx.take(dots.reshape(x.shape[0], -1), self._pairs, axis=1)
''',
    "class_token": '''\
def class_token(weight, x):
    """Puts a learned vector in front of a sequence."""
    return mx.concatenate((mx.broadcast_to(weight, (x.shape[0], 1, x.shape[2])), x), axis=1)
''',
    "SinusoidalPositions": '''\
class SinusoidalPositions(nn.Module):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""

    def __init__(self, length, features):
        super().__init__()
        angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
        table = np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, features)
        self._table = mx.array(table.astype(np.float32))

    def __call__(self, x):
        return x + self._table
''',
}
