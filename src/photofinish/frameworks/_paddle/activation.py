"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._paddle.native import Native, Rules, module, plain, write
from photofinish.layers import Spec


def _clip(layer: layers.Clip, spec: Spec) -> Native:
    if (layer.low, layer.high) == (0, 6):
        return Native("F.relu6({0})")
    return Native("paddle.clip({0}, %r, %r)" % (layer.low, layer.high))


def _elu(layer: layers.Elu, spec: Spec) -> Native:
    return Native(write("F.elu", "{0}", *(() if layer.alpha == 1 else (layer.alpha,))))


RULES: Rules = {
    layers.Relu: plain("F.relu({0})"),
    layers.Clip: _clip,
    layers.Sigmoid: plain("F.sigmoid({0})"),
    layers.Tanh: plain("paddle.tanh({0})"),
    layers.Swish: plain("F.silu({0})"),
    layers.LeakyRelu: lambda layer, spec: Native("F.leaky_relu({0}, %r)" % layer.alpha),
    layers.Elu: _elu,
    layers.Dropout: lambda layer, spec: module("nn.Dropout", layer.rate),
    layers.StochasticDepth: lambda layer, spec: module("StochasticDepth", layer.rate),
    layers.Gelu: lambda layer, spec: Native(
        "F.gelu({0}%s)" % ("" if layer.approximate == "none" else ", approximate=True")),
}

LOWERED = {layers.StochasticDepth: "a layer that multiplies by a mask of its own: Paddle ships none"}

HELPERS = {
    "StochasticDepth": '''\
class StochasticDepth(nn.Layer):
    """Drops whole samples in training."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        kept = paddle.bernoulli(paddle.full([x.shape[0]] + [1] * (x.ndim - 1), 1 - self.rate, x.dtype))
        return x * (kept / (1 - self.rate))
''',
}
