"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, call, link, plain


def _linear(layer: layers.Linear, spec: layers.Spec) -> Native:
    batch_axes = "" if spec.axes == "C" else ", n_batch_axes=%d" % len(spec.axes)
    return Native("{self}({0}%s)" % batch_axes, call(
        "L.Linear", spec.size("C"), layer.features, nobias=None if layer.bias else True))


RULES: Rules = {
    layers.Linear: _linear,
    layers.Embedding: lambda layer, spec: link("L.EmbedID", layer.vocabulary, layer.features),
    layers.EmbeddingBag: lambda layer, spec: Native(
        "F.sum({self}({0}), axis=1)", call("L.EmbedID", layer.vocabulary, layer.features)),
    layers.MatMul: plain("F.matmul({0}, {1})"),
    layers.PairwiseDots: plain("pairwise_dots({0})"),
    layers.ClassToken: lambda layer, spec: link("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: link("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: plain("add_sinusoids({0})"),
}

LOWERED = {
    layers.EmbeddingBag: "an L.EmbedID, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by F.matmul, then those below the diagonal by an index",
    layers.ClassToken: "a link with a parameter and F.concat",
    layers.LearnedPositions: "a link with a parameter and a sum",
    layers.SinusoidalPositions: "a table made anew at each step, and a sum",
}

HELPERS = {
    "tie": '''\
def tie(link, source):
    """One link takes the weight of another, with which alone it is counted and updated."""
    del link.W
    link.W = source.W
''',
    "pairwise_dots": '''\
def pairwise_dots(x):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""
    rows, columns = np.tril_indices(x.shape[1], -1)
    return F.matmul(x, x, transb=True)[:, rows, columns]
''',
    "ClassToken": '''\
class ClassToken(chainer.Link):
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        super().__init__()
        with self.init_scope():
            self.weight = chainer.Parameter(0.0, (features,))

    def forward(self, x):
        token = F.broadcast_to(F.reshape(self.weight, (1, 1, -1)), (len(x), 1, x.shape[2]))
        return F.concat((token, x), axis=1)
''',
    "LearnedPositions": '''\
class LearnedPositions(chainer.Link):
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        super().__init__()
        with self.init_scope():
            self.weight = chainer.Parameter(chainer.initializers.Normal(0.02), (length, features))

    def forward(self, x):
        return x + F.broadcast_to(self.weight[:x.shape[1]], x.shape)
''',
    "add_sinusoids": '''\
def add_sinusoids(x):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""
    length, features = x.shape[1:]
    angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
    table = np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, features)
    return x + np.broadcast_to(table.astype(x.dtype), x.shape)
''',
}
