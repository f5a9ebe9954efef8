"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._theano.native import Native, Rules, plain

RULES: Rules = {
    layers.Relu: plain("relu({0})"),
    layers.Clip: lambda layer, spec: Native("clip({0}, %r, %r)" % (float(layer.low), float(layer.high))),
    layers.Sigmoid: plain("T.nnet.sigmoid({0})"),
    layers.Tanh: plain("T.tanh({0})"),
    layers.Swish: plain("swish({0})"),
    layers.LeakyRelu: lambda layer, spec: Native("leaky_relu({0}, %r)" % layer.alpha),
    layers.Elu: lambda layer, spec: Native("elu({0}, %r)" % layer.alpha),
    layers.Gelu: lambda layer, spec: Native("gelu({0})" if layer.approximate == "none" else "gelu_by_tanh({0})"),
    layers.Dropout: lambda layer, spec: Native("dropout({0}, %r)" % layer.rate),
    layers.StochasticDepth: lambda layer, spec: Native("drop_samples({0}, %r)" % layer.rate),
}

LOWERED = {
    layers.Relu: "T.switch: at zero T.nnet.relu lets half of the gradient through",
    layers.Clip: "T.switch: at the bounds T.clip lets the gradient through",
    layers.Swish: "a product and a sigmoid",
    layers.LeakyRelu: "T.switch: at zero T.nnet.relu has the mean of both slopes",
    layers.Elu: "T.switch and T.expm1 of what is below zero: the gradient of T.nnet.elu is NaN above 88",
    layers.Gelu: "written out by T.erf or T.tanh",
    layers.Dropout: "a product with a mask drawn from MRG_RandomStreams",
    layers.StochasticDepth: "a product with a mask drawn from MRG_RandomStreams",
}

HELPERS = {
    "relu": '''\
def relu(x):
    """At zero no gradient flows; through T.nnet.relu half of it would."""
    return T.switch(x > 0, x, 0)
''',
    "clip": '''\
def clip(x, low, high):
    """Between two bounds, at which no gradient flows."""
    return T.switch(x <= low, low, T.switch(x >= high, high, x))
''',
    "swish": '''\
def swish(x):
    return x * T.nnet.sigmoid(x)
''',
    "leaky_relu": '''\
def leaky_relu(x, alpha):
    return T.switch(x > 0, x, alpha * x)
''',
    "elu": '''\
def elu(x, alpha):
    """Without exp of what is far above zero, which T.nnet.elu multiplies by nothing."""
    return T.switch(x > 0, x, alpha * T.expm1(T.switch(x > 0, 0, x)))
''',
    "gelu": '''\
def gelu(x):
    return 0.5 * x * (1 + T.erf(x * 0.7071067811865476))
''',
    "gelu_by_tanh": '''\
def gelu_by_tanh(x):
    """The approximation of Hendrycks & Gimpel 2016."""
    return 0.5 * x * (1 + T.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))
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
    return x * kept(x.shape[:1], rate).dimshuffle(0, *["x"] * (x.ndim - 1))
''',
    "kept": '''\
def kept(shape, rate):
    """A mask, anew at each call of a function: that moves the generator by itself."""
    Layer.random = Layer.random or MRG_RandomStreams()
    return Layer.random.binomial(shape, p=1 - rate, dtype="float32") / (1 - rate)
''',
}
