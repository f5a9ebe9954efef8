"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._mindspore.native import Native, Rules, cell, plain
from photofinish.layers import Spec


def _clip(layer: layers.Clip, spec: Spec) -> Native:
    if (layer.low, layer.high) == (0, 6):
        return Native("ops.relu6({0})")
    return Native("ops.clamp({0}, %r, %r)" % (layer.low, layer.high))


def _elu(layer: layers.Elu, spec: Spec) -> Native:
    return Native("ops.elu({0})" if layer.alpha == 1 else "elu({0}, %r)" % layer.alpha)


RULES: Rules = {
    layers.Relu: plain("ops.relu({0})"),
    layers.Clip: _clip,
    layers.Sigmoid: plain("ops.sigmoid({0})"),
    layers.Tanh: plain("tanh({0})"),
    layers.Swish: plain("ops.silu({0})"),
    layers.LeakyRelu: lambda layer, spec: Native("ops.leaky_relu({0}, %r)" % layer.alpha),
    layers.Elu: _elu,
    layers.Gelu: lambda layer, spec: Native('ops.gelu({0}, "%s")' % layer.approximate),
    layers.Dropout: lambda layer, spec: cell("nn.Dropout", p=layer.rate),
    layers.StochasticDepth: lambda layer, spec: cell("StochasticDepth", layer.rate),
}

LOWERED = {
    layers.Tanh: "a quotient with ops.expm1, off by up to 2e-7: MindSpore's own is by up to 1e-4, and above 1 near 5",
    layers.StochasticDepth: "nn.Dropout of ones, a product with them: MindSpore ships none",
}
LIMITS = {layers.Elu: "with another alpha than 1 by operations: MindSpore's own takes no other"}

HELPERS = {
    "tanh": '''\
def tanh(x):
    """More exact than ops.tanh on a CPU."""
    grown = ops.expm1(2 * ops.where(x > 20, 20.0, x))  # which would be infinite beyond 44
    return grown / (grown + 2)
''',
    "elu": '''\
def elu(x, alpha):
    return ops.where(x > 0, x, alpha * ops.expm1(ops.where(x > 0, 0.0, x)))
''',
    "StochasticDepth": '''\
class StochasticDepth(nn.Cell):
    """Drops whole samples in training."""

    def __init__(self, rate):
        super().__init__()
        self.dropout = nn.Dropout(p=rate)

    def construct(self, x):
        if not self.training:
            return x
        return x * self.dropout(ops.ones(x.shape[:1] + (1,) * (x.ndim - 1), x.dtype))
''',
}
