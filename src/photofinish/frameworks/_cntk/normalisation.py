"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._cntk.native import Native, Rules, part
from photofinish.layers import Spec


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    return part("BatchNorm", spec.size("C"), layer.epsilon, layer.momentum,
                spatial=None if spec.axes == "CHW" else False, turned=True if spec.axes == "TC" else None,
                scale=None if layer.scale else False, center=None if layer.center else False)


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    return part("LayerNorm", spec.size("C"), layer.epsilon, axis=spec.axes.index("C"), rank=len(spec.axes),
                scale=None if layer.scale else False, center=None if layer.center else False)


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: lambda layer, spec: Native("local_response_norm({0}, %d, %r, %r, %r)" % (
        layer.size, layer.bias, layer.alpha, layer.beta)),
}

LOWERED = {
    layers.LayerNorm: "means, products and sums, as C.layers.LayerNormalization has them for a whole sample",
    layers.LocalResponseNorm: "a sum of shifted squares: C.local_response_normalization was off by 1e-5 and more",
}
LIMITS = {layers.BatchNorm: "of sequences transposed to channels first and back"}

HELPERS = {
    "BatchNorm": '''\
class BatchNorm:
    """Of images, vectors (not `spatial`), or sequences (`turned`). CNTK's running statistics forget by samples, of
    which Layer.batch make a step."""

    def __init__(self, features, epsilon, momentum, spatial=True, turned=False, scale=True, center=True):
        self.weight = C.parameter((features,), init=1.0) if scale else C.constant(1.0, (features,))
        self.bias = C.parameter((features,), init=0.0) if center else C.constant(0.0, (features,))
        self.running_mean, self.running_variance = C.constant(0.0, (features,)), C.constant(1.0, (features,))
        self.seen = C.constant(1.0, ())  # of none, the first batch would be all that counts
        self.epsilon, self.spatial, self.turned = epsilon, spatial or turned, turned
        self.forgetting = -Layer.batch / np.log(momentum) if momentum else 0.0

    def __call__(self, x):
        x = C.reshape(C.transpose(x, (1, 0)), (x.shape[1], x.shape[0], 1)) if self.turned else x
        y = C.batch_normalization(x, self.weight, self.bias, self.running_mean, self.running_variance, self.spatial,
                                  normalization_time_constant=self.forgetting, epsilon=self.epsilon,
                                  running_count=self.seen)
        return C.transpose(C.reshape(y, x.shape[:2]), (1, 0)) if self.turned else y
''',
    "LayerNorm": '''\
class LayerNorm:
    """Normalises over one axis."""

    def __init__(self, features, epsilon, axis, rank, scale=True, center=True):
        self.weight = C.parameter((features,), init=1.0) if scale else None
        self.bias = C.parameter((features,), init=0.0) if center else None
        self.epsilon, self.axis = epsilon, axis
        self.shape = tuple(features if each == axis else 1 for each in range(rank))

    def __call__(self, x):
        x = x - C.reduce_mean(x, axis=self.axis)
        y = x / C.sqrt(C.reduce_mean(x * x, axis=self.axis) + self.epsilon)
        y = y if self.weight is None else y * C.reshape(self.weight, self.shape)
        return y if self.bias is None else y + C.reshape(self.bias, self.shape)
''',
    "local_response_norm": '''\
def local_response_norm(x, size, bias, alpha, beta):
    """Divides by a power of the mean square of the channels around; where they are even, one more after the middle."""
    squares = C.pad(x * x, [((size - 1) // 2, size // 2), (0, 0), (0, 0)])
    total = sum(C.slice(squares, 0, i, i + x.shape[0]) for i in range(size))
    return x * C.exp(-beta * C.log(bias + alpha / size * total))
''',
}
