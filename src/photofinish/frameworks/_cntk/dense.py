"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._cntk.native import Native, Rules, part, plain
from photofinish.frameworks._common.text import call
from photofinish.layers import Spec


def _bag(layer: layers.EmbeddingBag, spec: Spec) -> Native:
    return Native("C.reshape(C.reduce_sum({self}({0}), axis=0), (%d,))" % layer.features,
                  call("Embedding", layer.vocabulary, layer.features))


RULES: Rules = {
    layers.Linear: lambda layer, spec: part("Linear", spec.size("C"), layer.features,
                                            bias=None if layer.bias else False),
    layers.Embedding: lambda layer, spec: part("Embedding", layer.vocabulary, layer.features),
    layers.EmbeddingBag: _bag,
    layers.MatMul: plain("C.times({0}, {1})"),
    layers.PairwiseDots: plain("pairwise_dots({0})"),
    layers.ClassToken: lambda layer, spec: part("ClassToken", spec.size("C")),
    layers.LearnedPositions: lambda layer, spec: part("LearnedPositions", layer.length, spec.size("C")),
    layers.SinusoidalPositions: lambda layer, spec: Native("{0} + sinusoids(%d, %d)" % spec.shape),
}

LOWERED = {
    layers.EmbeddingBag: "C.gather, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by C.times, then the rows below the diagonal",
    layers.ClassToken: "a parameter and C.splice",
    layers.LearnedPositions: "a parameter and a sum",
    layers.SinusoidalPositions: "a constant table and a sum",
}

HELPERS = {
    "Linear": '''\
class Linear:
    """A product with a weight (outputs, inputs), and a sum."""

    def __init__(self, inputs, outputs, bias=True):
        self.weight = C.parameter((outputs, inputs), init=C.glorot_uniform())
        self.bias = C.parameter((outputs,), init=0.0) if bias else None

    def __call__(self, x):
        y = C.times_transpose(x, self.weight)
        return y if self.bias is None else y + self.bias
''',
    "Embedding": '''\
class Embedding:
    """Looks up the rows of a table."""

    def __init__(self, vocabulary, features):
        self.weight = C.parameter((vocabulary, features), init=C.normal(1.0))

    def __call__(self, x):
        return C.gather(self.weight, x)
''',
    "pairwise_dots": '''\
def pairwise_dots(x):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""
    dots = C.times(x, C.transpose(x, (1, 0)))
    return C.splice(*(C.reshape(C.slice(C.slice(dots, 0, i, i + 1), 1, 0, i), (i,)) for i in range(1, x.shape[0])),
                    axis=0)
''',
    "ClassToken": '''\
class ClassToken:
    """A learned vector in front of a sequence."""

    def __init__(self, features):
        self.weight = C.parameter((features,), init=0.0)

    def __call__(self, x):
        return C.splice(C.reshape(self.weight, (1, -1)), x, axis=0)
''',
    "LearnedPositions": '''\
class LearnedPositions:
    """Adds a learned vector to each position."""

    def __init__(self, length, features):
        self.weight = C.parameter((length, features), init=C.normal(0.02))

    def __call__(self, x):
        return x + C.slice(self.weight, 0, 0, x.shape[0])
''',
    "sinusoids": '''\
def sinusoids(length, features):
    """Sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""
    angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
    return C.constant(np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, features).astype(np.float32))
''',
}
