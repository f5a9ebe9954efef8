"""Normalisations."""

from typing import Tuple

from photofinish import layers
from photofinish.frameworks._pytensor.native import Native, Rules, part
from photofinish.layers import Spec


def _axes(spec: Spec) -> Tuple[int, ...]:
    return tuple(1 + i for i, axis in enumerate(spec.axes) if axis != "C")


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    return part("BatchNorm", spec.size("C"), layer.epsilon, layer.momentum, axes=(0,) + _axes(spec),
                scale=None if layer.scale else False, center=None if layer.center else False)


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    return part("LayerNorm", spec.size("C"), layer.epsilon, image=True if spec.axes == "CHW" else None,
                scale=None if layer.scale else False, center=None if layer.center else False)


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: lambda layer, spec: Native("local_response_norm({0}, %d, %r, %r, %r)" % (
        layer.size, layer.bias, layer.alpha, layer.beta)),
}

LOWERED = {
    layers.BatchNorm: "means, products and sums; running statistics are updates of the step",
    layers.LayerNorm: "means, products and sums",
    layers.LocalResponseNorm: "a sum of shifted squares, and a power",
}

HELPERS = {
    "BatchNorm": '''\
class BatchNorm:
    """Normalises over `axes`; a step of training moves the running statistics (Layer.updates)."""

    def __init__(self, features, epsilon, momentum, axes, scale=True, center=True):
        self.weight, self.bias = ones(features) if scale else None, zeros(features) if center else None
        self.running_mean, self.running_variance = zeros(features), ones(features)
        self.epsilon, self.momentum, self.axes = epsilon, momentum, axes
        self.place = (slice(None),) + (None,) * (len(axes) - 1) if 1 not in axes else Ellipsis

    def __call__(self, x):
        mean, variance = self.running_mean, self.running_variance
        if Layer.training:
            mean = pt.mean(x, axis=self.axes)
            variance = pt.mean((x - mean[self.place]) ** 2, axis=self.axes)
            for kept, now in ((self.running_mean, mean), (self.running_variance, variance)):
                Layer.updates[kept] = self.momentum * kept + (1 - self.momentum) * now
        factor = 1 / pt.sqrt(variance + self.epsilon)
        factor = factor if self.weight is None else factor * self.weight
        y = (x - mean[self.place]) * factor[self.place]
        return y if self.bias is None else y + self.bias[self.place]
''',
    "LayerNorm": '''\
class LayerNorm:
    """Normalises over the channels, the last axis unless it is an image."""

    def __init__(self, features, epsilon, image=False, scale=True, center=True):
        self.weight, self.bias = ones(features) if scale else None, zeros(features) if center else None
        self.epsilon, self.axis = epsilon, 1 if image else -1
        self.place = (slice(None), None, None) if image else Ellipsis

    def __call__(self, x):
        x = x - pt.mean(x, axis=self.axis, keepdims=True)
        y = x / pt.sqrt(pt.mean(x * x, axis=self.axis, keepdims=True) + self.epsilon)
        y = y if self.weight is None else y * self.weight[self.place]
        return y if self.bias is None else y + self.bias[self.place]
''',
    "local_response_norm": '''\
def local_response_norm(x, size, bias, alpha, beta):
    """Divides by a power of the mean square of the channels around; where they are even, one more after the middle."""
    _, channels, height, width = x.type.shape
    squares = pt.zeros((samples(x), channels + size - 1, height, width), dtype="float32")
    squares = squares[:, (size - 1) // 2:(size - 1) // 2 + channels].set(x * x)
    total = sum(squares[:, i:i + channels] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta
''',
}
