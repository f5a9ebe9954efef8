"""Elementwise functions and random layers."""

import math

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules, Use, plain


def _clip(use: Use, x: str) -> str:
    return use("Clip", x, use.constant(use.layer.low), use.constant(use.layer.high))


def _swish(use: Use, x: str) -> str:
    return use("Mul", x, use("Sigmoid", x))


def _gelu(use: Use, x: str) -> str:
    """As exporters write it, which is what engines look for to put a kernel in its place."""
    one, half = use.constant(1.0), use.constant(0.5)
    if use.layer.approximate == "tanh":
        bent = use("Add", x, use("Mul", use("Pow", x, use.constant(3.0)), use.constant(0.044715)))
        share = use("Add", use("Tanh", use("Mul", bent, use.constant(math.sqrt(2 / math.pi)))), one)
        return use("Mul", use("Mul", x, half), share)
    share = use("Add", use("Erf", use("Div", x, use.constant(math.sqrt(2)))), one)
    return use("Mul", use("Mul", x, share), half)


def _nothing(use: Use, x: str) -> str:
    return x


RULES: Rules = {
    layers.Relu: plain("Relu"),
    layers.Clip: _clip,
    layers.Sigmoid: plain("Sigmoid"),
    layers.Tanh: plain("Tanh"),
    layers.Swish: _swish,
    layers.LeakyRelu: lambda use, x: use("LeakyRelu", x, alpha=float(use.layer.alpha)),
    layers.Elu: lambda use, x: use("Elu", x, alpha=float(use.layer.alpha)),
    layers.Dropout: _nothing,
    layers.StochasticDepth: _nothing,
    layers.Gelu: _gelu,
}

LOWERED = {
    layers.Swish: "Sigmoid and Mul, as exporters write it: the operator is of opset 24",
    layers.Gelu: "Erf or Tanh with products and sums, as exporters write it: the operator is of opset 20",
}
LIMITS = {
    layers.Dropout: "nothing is left of it in inference",
    layers.StochasticDepth: "nothing is left of it in inference",
}
