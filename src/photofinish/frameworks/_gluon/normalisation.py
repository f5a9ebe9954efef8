"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._gluon.native import Native, Rules, block
from photofinish.layers import Spec


def _batch_norm(layer: layers.BatchNorm, spec: Spec) -> Native:
    axis = 1 + spec.axes.index("C")
    return block("nn.BatchNorm", axis=axis if axis > 1 else None,
                 momentum=layer.momentum if layer.momentum != 0.9 else None,
                 epsilon=layer.epsilon if layer.epsilon != 1e-5 else None, center=None if layer.center else False,
                 scale=None if layer.scale else False, in_channels=spec.size("C"))


def _layer_norm(layer: layers.LayerNorm, spec: Spec) -> Native:
    axis = 1 + spec.axes.index("C")
    return block("nn.LayerNorm", axis=axis if axis < len(spec.axes) else None,
                 epsilon=layer.epsilon if layer.epsilon != 1e-5 else None, center=None if layer.center else False,
                 scale=None if layer.scale else False, in_channels=spec.size("C"))


def _local_response_norm(layer: layers.LocalResponseNorm, spec: Spec) -> Native:
    if layer.size % 2:
        return Native("F.LRN({0}, nsize=%d, alpha=%r, beta=%r, knorm=%r)" % (
            layer.size, layer.alpha, layer.beta, layer.bias))
    return Native("even_response_norm(F, {0}, %d, %r, %r, %r)" % (layer.size, layer.alpha, layer.beta, layer.bias))


RULES: Rules = {
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.LocalResponseNorm: _local_response_norm,
}

LIMITS = {layers.LocalResponseNorm: "a window of an even size is a sum pool over the channels: F.LRN takes odd ones"}

HELPERS = {
    "even_response_norm": '''\
def even_response_norm(F, x, size, alpha, beta, bias):
    """Local response normalisation over an even number of channels, one more of them after the middle than before."""
    squares = F.expand_dims(F.reshape(F.square(x), shape=(0, 0, -1)), axis=1)
    around = (0, 0, 0, 0, (size - 1) // 2, size // 2, 0, 0)
    sums = F.Pooling(F.pad(squares, mode="constant", pad_width=around), kernel=(size, 1), pool_type="sum")
    return x * (bias + alpha / size * F.reshape_like(sums, x)) ** -beta
''',
}
