"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._gluon.native import Native, Rules, block, call, plain

RULES: Rules = {
    layers.Linear: lambda layer, spec: block(
        "nn.Dense", layer.features, use_bias=None if layer.bias else False, flatten=None if spec.axes == "C" else False,
        in_units=spec.size("C")),
    layers.Embedding: lambda layer, spec: block("nn.Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "F.sum({self}({0}), axis=1)", call("nn.Embedding", layer.vocabulary, layer.features)),
    layers.MatMul: plain("F.batch_dot({0}, {1})"),
    layers.PairwiseDots: lambda layer, spec: block("PairwiseDots", spec.size("T")),
    layers.ClassToken: lambda layer, spec: block("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: block(
        "LearnedPositions", layer.length, spec.size("C"), used=spec.size("T")),
    layers.SinusoidalPositions: lambda layer, spec: block("SinusoidalPositions", *spec.shape),
}

TIED = {  # of a layer whose weight is another's, which is set afterwards
    layers.Linear: lambda layer: call("TiedDense", layer.features, use_bias=None if layer.bias else False),
    layers.Embedding: lambda layer: call("TiedEmbedding", layer.vocabulary, layer.features),
}

LOWERED = {
    layers.EmbeddingBag: "an nn.Embedding, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by F.batch_dot, then those below the diagonal by F.take",
    layers.ClassToken: "a block with a parameter and F.concat",
    layers.LearnedPositions: "a block with a parameter and a sum",
    layers.SinusoidalPositions: "a block with a constant table and a sum",
}

HELPERS = {
    "TiedDense": '''\
class TiedDense(gluon.HybridBlock):
    """A product with the weight of another block, which is given to it as `weight`."""

    def __init__(self, units, use_bias=True):
        super().__init__()
        self.units = units
        if use_bias:
            self.bias = self.params.get("bias", shape=(units,), init="zeros")

    def hybrid_forward(self, F, x, weight, bias=None):
        if bias is None:
            return F.FullyConnected(x, weight, num_hidden=self.units, no_bias=True, flatten=False)
        return F.FullyConnected(x, weight, bias, num_hidden=self.units, flatten=False)
''',
    "TiedEmbedding": '''\
class TiedEmbedding(gluon.HybridBlock):
    """Looks up rows of the weight of another block, which is given to it as `weight`."""

    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.sizes = {"input_dim": input_dim, "output_dim": output_dim}

    def hybrid_forward(self, F, x, weight):
        return F.Embedding(x, weight, **self.sizes)
''',
    "PairwiseDots": '''\
class PairwiseDots(gluon.HybridBlock):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""

    def __init__(self, vectors):
        super().__init__()
        rows, columns = np.tril_indices(vectors, -1)
        self.pairs = self.params.get_constant("pairs", rows * vectors + columns)

    def hybrid_forward(self, F, x, pairs):
        dots = F.batch_dot(x, x, transpose_b=True)
        return F.take(F.flatten(dots), pairs, axis=1)
''',
    "ClassToken": '''\
class ClassToken(gluon.HybridBlock):
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        super().__init__()
        self.weight = self.params.get("weight", shape=(features,), init="zeros")

    def hybrid_forward(self, F, x, weight):
        token = F.broadcast_like(F.reshape(weight, shape=(1, 1, -1)), x, lhs_axes=(0,), rhs_axes=(0,))
        return F.concat(token, x, dim=1)
''',
    "LearnedPositions": '''\
class LearnedPositions(gluon.HybridBlock):
    """Adds a learned vector to each position, of which `used` are there."""

    def __init__(self, length, features, used):
        super().__init__()
        self.used = used
        self.weight = self.params.get("weight", shape=(length, features), init=mx.init.Normal(0.02))

    def hybrid_forward(self, F, x, weight):
        return F.broadcast_add(x, F.expand_dims(F.slice_axis(weight, axis=0, begin=0, end=self.used), axis=0))
''',
    "SinusoidalPositions": '''\
class SinusoidalPositions(gluon.HybridBlock):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""

    def __init__(self, length, features):
        super().__init__()
        angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
        table = np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(1, length, features)
        self.table = self.params.get_constant("table", table)

    def hybrid_forward(self, F, x, table):
        return F.broadcast_add(x, table)
''',
}
