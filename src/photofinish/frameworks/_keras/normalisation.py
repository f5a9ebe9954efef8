"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._keras.use import Rules

RULES: Rules = {
    layers.BatchNorm: lambda use: [use.keras(
        "BatchNormalization", momentum=use.layer.momentum, epsilon=use.layer.epsilon,
        center=None if use.layer.center else False, scale=None if use.layer.scale else False)],
    layers.LocalResponseNorm: lambda use: [call(
        "LocalResponseNorm", use.layer.size, use.layer.alpha, use.layer.beta, use.layer.bias, name=use.name) + "({0})"],
    layers.LayerNorm: lambda use: [use.keras(
        "LayerNormalization", epsilon=use.layer.epsilon, center=None if use.layer.center else False,
        scale=None if use.layer.scale else False)],
}

LIMITS = {
    layers.BatchNorm: "the running variance counts n in training, and is converted to n - 1 where the layer says so",
    layers.LayerNorm: "on TensorFlow and JAX, which have no kernel for it, of moments, products and sums",
    layers.LocalResponseNorm: "a sum of slices; in contender tensorflow, its operation where the window is odd",
}

_LOCAL_RESPONSE_NORM = '''
class LocalResponseNorm(layers.Layer):
    """Divides by a power of the mean square of the channels around.{why}"""

    def __init__(self, size, alpha, beta, bias, **options):
        super().__init__(**options)
        self.size, self.alpha, self.beta, self.bias = size, alpha, beta, bias

    def call(self, x):
{kernel}\
        squares = ops.pad(x * x, ((0, 0), (0, 0), (0, 0), ((self.size - 1) // 2, self.size // 2)))
        total = sum(squares[..., i:i + x.shape[-1]] for i in range(self.size))
        return x * (self.bias + self.alpha / self.size * total) ** -self.beta
'''
HELPERS = {"LocalResponseNorm": _LOCAL_RESPONSE_NORM.format(
    why=" TensorFlow's own has no float64, and only\n    windows with a middle.", kernel='''\
        if self.size % 2 and x.dtype != tf.float64:
            return tf.nn.local_response_normalization(x, self.size // 2, self.bias, self.alpha / self.size, self.beta)
''')}
PORTABLE = {"LocalResponseNorm": _LOCAL_RESPONSE_NORM.format(why="", kernel="")}
