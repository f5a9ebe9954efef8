"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._common.text import show
from photofinish.frameworks._tinygrad.native import Native, Rules, method, plain
from photofinish.layers import Spec


def _clip(layer: layers.Clip, spec: Spec) -> Native:
    if (layer.low, layer.high) == (0, 6):
        return Native("{0}.relu6()")
    return Native("clip({0}, %r, %r)" % (layer.low, layer.high))


RULES: Rules = {
    layers.Relu: plain("{0}.relu()"),
    layers.Clip: _clip,
    layers.Sigmoid: plain("{0}.sigmoid()"),
    layers.Tanh: plain("{0}.tanh()"),
    layers.Swish: plain("{0}.silu()"),
    layers.LeakyRelu: lambda layer, spec: method("leaky_relu", layer.alpha),
    layers.Elu: lambda layer, spec: method("elu", layer.alpha),
    layers.Gelu: lambda layer, spec: Native("{0}.gelu(%s)" % ("" if layer.approximate == "tanh"
                                                              else "approximate=" + show(layer.approximate))),
    layers.Dropout: lambda layer, spec: method("dropout", layer.rate),
    layers.StochasticDepth: lambda layer, spec: Native("drop_samples({0}, %r)" % layer.rate),
}

LOWERED = {layers.StochasticDepth: "a product with a mask of its own: tinygrad drops single values"}
LIMITS = {
    layers.Clip: "between bounds other than 0 and 6, by Tensor.where: no gradient flows at the bounds",
}

HELPERS = {
    "clip": '''\
def clip(x, low, high):
    """Between two bounds, at which no gradient flows."""
    return (x <= low).where(low, (x >= high).where(high, x))
''',
    "drop_samples": '''\
def drop_samples(x, rate):
    """Drops whole samples in training."""
    if not TRAINING or rate == 0:
        return x
    kept = Tensor.rand(x.shape[0], *(1,) * (x.ndim - 1)) >= rate
    return x * kept / (1 - rate)
''',
}
