"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._gluon.native import Native, Rules, block, plain


def _gelu(layer: layers.Gelu, spec: layers.Spec) -> Native:
    return Native("gelu_by_tanh(F, {0})" if layer.approximate == "tanh" else 'F.LeakyReLU({0}, act_type="gelu")')


RULES: Rules = {
    layers.Relu: plain('F.Activation({0}, act_type="relu")'),
    layers.Clip: lambda layer, spec: Native("F.clip({0}, %r, %r)" % (layer.low, layer.high)),
    layers.Sigmoid: plain('F.Activation({0}, act_type="sigmoid")'),
    layers.Tanh: plain('F.Activation({0}, act_type="tanh")'),
    layers.Swish: lambda layer, spec: block("nn.Swish"),
    layers.LeakyRelu: lambda layer, spec: Native('F.LeakyReLU({0}, act_type="leaky", slope=%r)' % layer.alpha),
    layers.Elu: lambda layer, spec: Native('F.LeakyReLU({0}, act_type="elu", slope=%r)' % layer.alpha),
    layers.Gelu: _gelu,
    layers.Dropout: lambda layer, spec: block("nn.Dropout", layer.rate),
    layers.StochasticDepth: lambda layer, spec: block(
        "nn.Dropout", layer.rate, axes=tuple(range(1, 1 + len(spec.axes)))),
}

LIMITS = {
    layers.Clip: "at the bounds themselves F.clip lets the gradient through",
    layers.Gelu: "by the tanh it is written out: MXNet has the error function's alone",
}

HELPERS = {
    "gelu_by_tanh": '''\
def gelu_by_tanh(F, x):
    """The approximation of Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1 + F.Activation(0.7978845608028654 * (x + 0.044715 * x * x * x), act_type="tanh"))
''',
}
