"""Normalisations."""

from typing import Any, Tuple

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call
from photofinish.frameworks._mlx.use import Rules, Use


def _frozen(layer: Any) -> Tuple[str, ...]:
    """Of weight and bias, which come together, the one that the layer lacks is not trained."""
    lacking = [name for name, kept in (("weight", layer.scale), ("bias", layer.center)) if not kept]
    return tuple('{self}.freeze(keys=["%s"])' % name for name in lacking) if len(lacking) == 1 else ()


def _batch_norm(use: Use) -> Native:
    layer = use.layer
    momentum = float("%.15g" % (1 - layer.momentum))
    made = call("nn.BatchNorm", use.spec.size("C"), eps=None if layer.epsilon == 1e-5 else layer.epsilon,
                momentum=None if momentum == 0.1 else momentum, affine=None if layer.scale or layer.center else False)
    return Native("{self}({0})", made, _frozen(layer))


def _layer_norm(use: Use) -> Native:
    layer = use.layer
    made = call("nn.LayerNorm", use.spec.size("C"), eps=None if layer.epsilon == 1e-5 else layer.epsilon,
                affine=None if layer.scale or layer.center else False)
    return Native("{self}({0})", made, _frozen(layer))


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: lambda use: Native("local_response_norm({0}, %d, alpha=%r, beta=%r, bias=%r)" % (
        use.layer.size, use.layer.alpha, use.layer.beta, use.layer.bias)),
}

LOWERED = {layers.LocalResponseNorm: "sums of slices, and a power: MLX ships none"}
LIMITS = {
    layers.BatchNorm: "mlx.nn counts n - 1 in the running variance: converted to n where the layer says so; one of "
                      "weight and bias alone: the other is there and is frozen",
    layers.LayerNorm: "one of weight and bias alone: the other is there and is frozen",
}

HELPERS = {
    "local_response_norm": '''\
def local_response_norm(x, size, alpha, beta, bias):
    """Divides by a power of the mean square of the channels around."""
    squares = mx.pad(x * x, ((0, 0), (0, 0), (0, 0), ((size - 1) // 2, size // 2)))
    total = sum(squares[..., i:i + x.shape[3]] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta
''',
}
