"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._pytensor.native import Native, Rules, plain

RULES: Rules = {
    layers.Relu: plain("relu({0})"),
    layers.Clip: lambda layer, spec: Native("clip({0}, %r, %r)" % (float(layer.low), float(layer.high))),
    layers.Sigmoid: plain("pt.sigmoid({0})"),
    layers.Tanh: plain("pt.tanh({0})"),
    layers.Swish: plain("swish({0})"),
    layers.LeakyRelu: lambda layer, spec: Native("leaky_relu({0}, %r)" % layer.alpha),
    layers.Elu: lambda layer, spec: Native("elu({0}, %r)" % layer.alpha),
    layers.Gelu: lambda layer, spec: Native("gelu({0})" if layer.approximate == "none" else "gelu_by_tanh({0})"),
    layers.Dropout: lambda layer, spec: Native("dropout({0}, %r)" % layer.rate),
    layers.StochasticDepth: lambda layer, spec: Native("drop_samples({0}, %r)" % layer.rate),
}

LOWERED = {
    layers.Relu: "pt.switch: at zero pt.maximum lets the gradient through",
    layers.Clip: "pt.switch: at the bounds pt.clip lets the gradient through",
    layers.Swish: "a product and a sigmoid", layers.LeakyRelu: "pt.switch", layers.Elu: "pt.switch and pt.expm1",
    layers.Gelu: "written out by pt.erf or pt.tanh",
    layers.Dropout: "a product with a mask drawn from PyTensor's generator",
    layers.StochasticDepth: "a product with a mask drawn from PyTensor's generator",
}

HELPERS = {
    "relu": '''\
def relu(x):
    return pt.switch(x > 0, x, 0)
''',
    "clip": '''\
def clip(x, low, high):
    """Between two bounds, at which no gradient flows."""
    return pt.switch(x <= low, low, pt.switch(x >= high, high, x))
''',
    "swish": '''\
def swish(x):
    return x * pt.sigmoid(x)
''',
    "leaky_relu": '''\
def leaky_relu(x, alpha):
    return pt.switch(x > 0, x, alpha * x)
''',
    "elu": '''\
def elu(x, alpha):
    return pt.switch(x > 0, x, alpha * pt.expm1(pt.minimum(x, 0)))
''',
    "gelu": '''\
def gelu(x):
    return 0.5 * x * (1 + pt.erf(x * 0.7071067811865476))
''',
    "gelu_by_tanh": '''\
def gelu_by_tanh(x):
    """The approximation of Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1 + pt.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
''',
    "dropout": '''\
def dropout(x, rate):
    """Zeros in training, and the rest made as much larger."""
    return x * kept(x.shape, rate) if Layer.training and rate else x
''',
    "drop_samples": '''\
def drop_samples(x, rate):
    """Drops whole samples in training."""
    if not Layer.training or not rate:
        return x
    return x * kept(x.shape[:1], rate).reshape((-1,) + (1,) * (x.ndim - 1))
''',
    "kept": '''\
def kept(shape, rate):
    """A mask of its own for whoever asks: each draw goes on from where the last left the generator."""
    Layer.updates[Layer.random], drawn = Layer.updates.get(Layer.random, Layer.random).uniform(size=shape)
    return (drawn >= rate).astype("float32") / (1 - rate)
''',
}
