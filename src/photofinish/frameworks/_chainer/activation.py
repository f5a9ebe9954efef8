"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, plain

RULES: Rules = {
    layers.Relu: plain("F.relu({0})"),
    layers.Clip: lambda layer, spec: Native("F.clip({0}, %r, %r)" % (float(layer.low), float(layer.high))),
    layers.Sigmoid: plain("F.sigmoid({0})"),
    layers.Tanh: plain("F.tanh({0})"),
    layers.Swish: plain("swish({0})"),
    layers.LeakyRelu: lambda layer, spec: Native("F.leaky_relu({0}, %r)" % layer.alpha),
    layers.Elu: lambda layer, spec: Native("F.elu({0}, %r)" % layer.alpha),
    layers.Gelu: lambda layer, spec: Native("gelu({0})" if layer.approximate == "none" else "gelu_by_tanh({0})"),
    layers.Dropout: lambda layer, spec: Native("F.dropout({0}, %r)" % layer.rate),
    layers.StochasticDepth: lambda layer, spec: Native("stochastic_depth({0}, %r)" % layer.rate),
}

LOWERED = {
    layers.Swish: "a product and a sigmoid: F.swish has a parameter",
    layers.Gelu: "written out by F.erf or F.tanh: Chainer has no GELU",
    layers.StochasticDepth: "F.dropout of ones, a product with them",
}
LIMITS = {layers.Clip: "at the bounds themselves F.clip lets the gradient through"}

HELPERS = {
    "swish": '''\
def swish(x):
    return x * F.sigmoid(x)
''',
    "gelu": '''\
def gelu(x):
    """x times the normal distribution."""
    return 0.5 * x * (1 + F.erf(x * 0.7071067811865476))
''',
    "gelu_by_tanh": '''\
def gelu_by_tanh(x):
    """The approximation of Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1 + F.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
''',
    "stochastic_depth": '''\
def stochastic_depth(x, rate):
    """Drops whole samples in training."""
    if not chainer.config.train or rate == 0:
        return x
    kept = F.dropout(np.ones((len(x),) + (1,) * (x.ndim - 1), x.dtype), rate)
    return x * F.broadcast_to(kept, x.shape)
''',
}
