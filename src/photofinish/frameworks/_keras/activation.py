"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._keras.use import Printed, Rules, Use


def _clip(use: Use) -> Printed:
    if (use.layer.low, use.layer.high) == (0, 6):
        return [use.keras("ReLU", 6.0)]
    return ["clip({{0}}, {!r}, {!r})".format(use.layer.low, use.layer.high)]


RULES: Rules = {
    layers.Relu: lambda use: [use.keras("ReLU")],
    layers.Clip: _clip,
    layers.Sigmoid: lambda use: [use.keras("Activation", "sigmoid")],
    layers.Tanh: lambda use: [use.keras("Activation", "tanh")],
    layers.Swish: lambda use: [use.keras("Activation", "silu")],
    layers.LeakyRelu: lambda use: [use.keras("LeakyReLU", use.layer.alpha)],
    layers.Elu: lambda use: [use.keras("ELU", use.layer.alpha)],
    layers.Dropout: lambda use: [use.keras("Dropout", use.layer.rate)],
    layers.StochasticDepth: lambda use: [use.keras(
        "Dropout", use.layer.rate, noise_shape=(None,) + (1,) * len(use.spec.axes))],
    layers.Gelu: lambda use: [use.keras("Activation", "gelu") if use.layer.approximate == "none"
                              else "ops.gelu({0}, approximate=True)"],
}

LIMITS = {
    layers.Clip: "between bounds other than 0 and 6, ops.clip and ops.where: at the bounds Keras' gradient is 1",
    layers.LeakyRelu: "TensorFlow rounds the slope to float32, in float64 too: there it is right to 1e-8",
    layers.Gelu: "TensorFlow rounds its constants to float32, in float64 too: there it is right to 1e-8",
}

HELPERS = {
    "clip": '''
def clip(x, low, high):
    """As ops.clip, but no gradient flows at the bounds themselves."""
    inside = ops.logical_and(x > low, x < high)
    return ops.where(inside, x, ops.stop_gradient(ops.clip(x, low, high)))
''',
}
