"""Normalisations."""

from typing import Any, Tuple

from photofinish import layers
from photofinish.frameworks._mindspore.native import Native, Rules, call, frozen, unless
from photofinish.layers import Spec


def _fixed(layer: Any) -> Tuple[str, ...]:
    """The parameters that MindSpore has and the layer has not: they stay what they are at first."""
    return tuple(name for name, wanted in (("gamma", layer.scale), ("beta", layer.center)) if not wanted)


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    kind = {"C": "nn.BatchNorm1d", "TC": "nn.BatchNorm1d", "CHW": "nn.BatchNorm2d"}[spec.axes]
    rows = "ops.reshape({self}(ops.reshape({0}, (-1, %d))), (-1, %d, %d))"  # a row for each position
    text = "{self}({0})" if spec.axes != "TC" else rows % ((spec.size("C"),) + tuple(spec.shape))
    made = call(kind, spec.size("C"), eps=unless(1e-5, layer.epsilon), momentum=unless(0.9, layer.momentum))
    return Native(text, made, frozen(*_fixed(layer)))


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    text = {"C": "{self}({0})", "TC": "{self}({0})",
            "CHW": "ops.transpose({self}(ops.transpose({0}, (0, 2, 3, 1))), (0, 3, 1, 2))"}[spec.axes]
    return Native(text, call("nn.LayerNorm", (spec.size("C"),), epsilon=layer.epsilon), frozen(*_fixed(layer)))


def _local_response_norm(layer: layers.LocalResponseNorm, spec: Spec) -> Native:
    if layer.size % 2:
        return Native("ops.lrn({0}, %d, %r, %r, %r)" % (
            layer.size // 2, float(layer.bias), layer.alpha / layer.size, layer.beta))
    return Native("even_response_norm({0}, %d, %r, %r, %r)" % (layer.size, layer.alpha, layer.beta, layer.bias))


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: _local_response_norm,
}

LIMITS = {
    layers.BatchNorm: "one of gamma and beta alone: the other is there and is not trained",
    layers.LayerNorm: "an image is transposed to channels last and back; one of gamma and beta alone: the other is "
                      "there and is not trained",
    layers.LocalResponseNorm: "a window of an even size is a sum of shifted squares: MindSpore's are odd",
}

HELPERS = {
    "even_response_norm": '''\
def even_response_norm(x, size, alpha, beta, bias):
    """Local response normalisation over an even number of channels, one more of them after the middle than before."""
    channels = x.shape[1]
    squares = ops.pad(x * x, (0, 0, 0, 0, (size - 1) // 2, size // 2))
    total = squares[:, :channels]
    for i in range(1, size):
        total = total + squares[:, i:i + channels]
    return x * ops.pow(bias + alpha / size * total, -beta)
''',
}
