"""Normalisations."""

from typing import Tuple

from photofinish import layers
from photofinish.frameworks._theano.native import Native, Rules, part
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
    layers.LayerNorm: "means, products and sums: Theano ships none",
    layers.LocalResponseNorm: "a sum of shifted squares, and a power: Theano ships none",
}
LIMITS = {
    layers.BatchNorm: "the operations behind T.nnet.bn.batch_normalization_train and _test, which refuse an epsilon "
                      "of 1e-5, for in float32 that is a little less",
}

HELPERS = {
    "BatchNorm": '''\
class BatchNorm:
    """Normalises over `axes`; a step of training moves the running statistics (Layer.updates)."""

    def __init__(self, features, epsilon, momentum, axes, scale=True, center=True):
        self.weight, self.bias = ones(features) if scale else None, zeros(features) if center else None
        self.running_mean, self.running_variance = zeros(features), ones(features)
        self.epsilon, self.momentum, self.axes = epsilon, momentum, axes

    def __call__(self, x):
        weight = T.ones_like(self.running_mean) if self.weight is None else self.weight
        bias = T.zeros_like(self.running_mean) if self.bias is None else self.bias
        (channels,) = (axis for axis in range(x.ndim) if axis not in self.axes)
        place = [0 if axis == channels else "x" for axis in range(x.ndim)]
        weight, bias, mean, variance = (each.dimshuffle(place) for each in (
            weight, bias, self.running_mean, self.running_variance))
        if not Layer.training:
            return T.nnet.bn.AbstractBatchNormInference(self.axes)(x, weight, bias, mean, variance, self.epsilon)
        y, _, _, mean, variance = T.nnet.bn.AbstractBatchNormTrain(self.axes)(
            x, weight, bias, self.epsilon, 1 - self.momentum, mean, variance)
        Layer.updates[self.running_mean] = mean.dimshuffle(channels)
        Layer.updates[self.running_variance] = variance.dimshuffle(channels)
        return y
''',
    "LayerNorm": '''\
class LayerNorm:
    """Normalises over the channels, the last axis unless it is an image."""

    def __init__(self, features, epsilon, image=False, scale=True, center=True):
        self.weight, self.bias = ones(features) if scale else None, zeros(features) if center else None
        self.epsilon, self.image = epsilon, image

    def __call__(self, x):
        axis, place = (1, (slice(None), None, None)) if self.image else (x.ndim - 1, Ellipsis)
        x = x - T.mean(x, axis=axis, keepdims=True)
        y = x / T.sqrt(T.mean(x * x, axis=axis, keepdims=True) + self.epsilon)
        y = y if self.weight is None else y * self.weight[place]
        return y if self.bias is None else y + self.bias[place]
''',
    "local_response_norm": '''\
def local_response_norm(x, size, bias, alpha, beta):
    """Divides by a power of the mean square of the channels around; where they are even, one more after the middle."""
    samples, channels, height, width = x.shape
    squares = T.zeros((samples, channels + size - 1, height, width))
    first = (size - 1) // 2
    squares = T.set_subtensor(squares[:, first:first + channels], x * x)
    total = sum(squares[:, i:i + channels] for i in range(size))
    return x * (bias + alpha / size * total) ** -beta
''',
}
