"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._mlx.use import Rules, Use, always, module


def _clip(use: Use) -> Native:
    if (use.layer.low, use.layer.high) == (0, 6):
        return Native("nn.relu6({0})")
    return Native("mx.clip({0}, %r, %r)" % (use.layer.low, use.layer.high))


RULES: Rules = {
    layers.Relu: always("nn.relu({0})"),
    layers.Clip: _clip,
    layers.Sigmoid: always("mx.sigmoid({0})"),
    layers.Tanh: always("mx.tanh({0})"),
    layers.Swish: always("nn.silu({0})"),
    layers.LeakyRelu: lambda use: Native("nn.leaky_relu({0}, %r)" % use.layer.alpha),
    layers.Elu: lambda use: Native("elu({0}, %r)" % use.layer.alpha),
    layers.Gelu: lambda use: Native("nn.gelu%s({0})" % ("_approx" if use.layer.approximate == "tanh" else "")),
    layers.Dropout: lambda use: module("nn.Dropout", use.layer.rate),
    layers.StochasticDepth: lambda use: module("StochasticDepth", use.layer.rate),
}

LOWERED = {
    layers.Elu: "mx.expm1 of what is below zero, and mx.where: the gradient of nn.elu is NaN far above zero",
    layers.StochasticDepth: "a module that multiplies by a mask of its own: mlx.nn has none for whole samples",
}

HELPERS = {
    "elu": '''\
def elu(x, alpha):
    """As nn.elu, of which exp overflows far above zero and makes the gradient NaN."""
    return mx.where(x > 0, x, alpha * mx.expm1(mx.minimum(x, 0)))
''',
    "StochasticDepth": '''\
class StochasticDepth(nn.Module):
    """Drops whole samples in training."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def __call__(self, x):
        if not self.training or self.rate == 0:
            return x
        kept = mx.random.bernoulli(1 - self.rate, (x.shape[0],) + (1,) * (x.ndim - 1))
        return x * kept / (1 - self.rate)
''',
}
