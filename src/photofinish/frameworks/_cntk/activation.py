"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._cntk.native import Native, Rules, plain
from photofinish.layers import Spec


def _gelu(layer: layers.Gelu, spec: Spec) -> Native:
    if layer.approximate == "none":
        raise Unsupported("CNTK has no error function, which this Gelu is made of")
    return Native("gelu_by_tanh({0})")


RULES: Rules = {
    layers.Relu: plain("C.relu({0})"),
    layers.Clip: lambda layer, spec: Native("C.clip({0}, %r, %r)" % (float(layer.low), float(layer.high))),
    layers.Sigmoid: plain("C.sigmoid({0})"),
    layers.Tanh: plain("C.tanh({0})"),
    layers.Swish: plain("swish({0})"),
    layers.LeakyRelu: lambda layer, spec: Native("C.leaky_relu({0}, %r)" % layer.alpha),
    layers.Elu: lambda layer, spec: Native("C.elu({0}, %r)" % layer.alpha),
    layers.Gelu: _gelu,
    layers.Dropout: lambda layer, spec: Native("C.dropout({0}, %r)" % layer.rate if layer.rate else "{0}"),
    layers.StochasticDepth: lambda layer, spec: Native(
        "stochastic_depth({0}, %r)" % layer.rate if layer.rate else "{0}"),
}

LOWERED = {
    layers.Swish: "a product and a sigmoid", layers.StochasticDepth: "C.dropout of a one, a product with it",
    layers.Gelu: "written out by C.tanh; by the error function it is absent, for CNTK has none",
}
LIMITS = {layers.Clip: "at the bounds themselves C.clip lets the gradient through"}

HELPERS = {
    "swish": '''\
def swish(x):
    return x * C.sigmoid(x)
''',
    "gelu_by_tanh": '''\
def gelu_by_tanh(x):
    """The approximation of Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1 + C.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
''',
    "stochastic_depth": '''\
def stochastic_depth(x, rate):
    """Drops whole samples in training."""
    kept = C.dropout(C.ones_like(C.reduce_max(x)), rate)
    return x * C.reshape(kept, (1,) * len(x.shape))
''',
}
