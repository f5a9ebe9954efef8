"""Products with a weight, and tables that are looked up or added."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._flax.use import Functions, Rules, Use, always, made, module


def _first(use: Use) -> str:
    """The index of as many learned positions as there are."""
    length = use.spec.size("T")
    return "" if length == use.layer.length else "[:%d]" % length


RULES: Rules = {
    layers.Linear: lambda use: module(
        "nnx.Linear", use.spec.size("C"), use.layer.features, use_bias=None if use.layer.bias else False),
    layers.Embedding: lambda use: module("nnx.Embed", use.layer.vocabulary, use.layer.features),
    layers.EmbeddingBag: lambda use: Native(
        "jnp.sum({self}({0}), axis=1)", made("nnx.Embed", use.layer.vocabulary, use.layer.features)),
    layers.MatMul: always("jnp.matmul({0}, {1})"),
    layers.PairwiseDots: always("pairwise_dots({0})"),
    layers.ClassToken: lambda use: Native(
        "class_token({self}[...], {0})", "nnx.Param(jnp.zeros(%d))" % use.spec.size("C")),
    layers.LearnedPositions: lambda use: Native(
        "{0} + {self}%s" % (_first(use) or "[...]"), "nnx.Param(%r * jax.random.normal(rngs.params(), (%d, %d)))" % (
            float(use.layer.gain), use.layer.length, use.spec.size("C"))),
    layers.SinusoidalPositions: always("add_sinusoids({0})"),
}

FUNCTIONS: Functions = {
    layers.Linear: lambda use: "linear({p}, {0})",
    layers.Embedding: lambda use: '{p}["embedding"][{0}]',
    layers.EmbeddingBag: lambda use: 'jnp.sum({p}["embedding"][{0}], axis=1)',
    layers.ClassToken: lambda use: "class_token({p}, {0})",
    layers.LearnedPositions: lambda use: "{0} + {p}%s" % _first(use),
}

LOWERED = {
    layers.EmbeddingBag: "an nnx.Embed, which writes every row out, then a sum",
    layers.PairwiseDots: "all dot products by a matrix product, then those below the diagonal by an index",
    layers.ClassToken: "a parameter and jnp.concatenate",
    layers.LearnedPositions: "a parameter and a sum",
    layers.SinusoidalPositions: "a constant table and a sum",
}

HELPERS = {
    "TiedLinear": '''\
class TiedLinear(nnx.Module):
    """A matrix product with the table of an embedding, which is given to it as `embedding`."""

    def __init__(self, features, use_bias=True):
        self.bias = nnx.Param(jnp.zeros(features)) if use_bias else None

    def __call__(self, x):
        y = x @ self.embedding[...].T
        return y if self.bias is None else y + self.bias[...]
''',
    "pairwise_dots": '''\
def pairwise_dots(x):
    """The dot products of all pairs of different vectors: (1, 0), (2, 0), (2, 1), ..."""
    rows, columns = np.tril_indices(x.shape[1], -1)
    return (x @ x.swapaxes(1, 2))[:, rows, columns]
''',
    "class_token": '''\
def class_token(weight, x):
    """Puts a learned vector in front of a sequence."""
    return jnp.concatenate((jnp.broadcast_to(weight, (x.shape[0], 1, x.shape[2])), x), axis=1)
''',
    "add_sinusoids": '''\
def add_sinusoids(x):
    """Adds sines and cosines of the position, of wavelengths from 2 pi to 20,000 pi."""
    length, features = x.shape[1:]
    angles = np.outer(np.arange(length), 1e4 ** (-np.arange(0, features, 2) / features))
    table = np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(length, features)
    return x + table.astype(x.dtype)
''',
}

PLAIN_HELPERS = {
    "linear": '''\
def linear(p, x):
    """A matrix product over the last axis."""
    y = x @ p["kernel"]
    return y + p["bias"] if "bias" in p else y
''',
}
