"""Normalisations."""

from typing import Optional, Sequence

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.base import Ruled, Rules, Use


def batch_norm(use: Use, x: np.ndarray) -> Ruled:
    layer, axes = use.layer, use.axes_but_channels()
    count = x.size // x.shape[use.axis("C")]
    wide = tuple(-1 if axis == use.axis("C") else 1 for axis in range(x.ndim))
    if use.training:
        mean, variance = x.mean(axes), x.var(axes)
        enters = variance * (count / (count - 1.0)) if layer.running_variance == "sample" else variance
        for name, batch in (("running_mean", mean), ("running_variance", enters)):
            use.new_state[name] = layer.momentum * use.state[name] + (1 - layer.momentum) * batch
    else:
        mean, variance = use.state["running_mean"], use.state["running_variance"]
    inverse = (1 / np.sqrt(variance + layer.epsilon)).reshape(wide)
    normal = (x - mean.reshape(wide)) * inverse
    y = normal
    if layer.scale:
        y = y * use.parameters["weight"].reshape(wide)
    if layer.center:
        y = y + use.parameters["bias"].reshape(wide)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:  # of training: the batch moves the statistics
        use.gradients["weight"] = (gradient * normal).sum(axes)
        use.gradients["bias"] = gradient.sum(axes)
        if layer.scale:
            gradient = gradient * use.parameters["weight"].reshape(wide)
        common = gradient.mean(axes, keepdims=True)
        along = (gradient * normal).mean(axes, keepdims=True)
        return (inverse * (gradient - common - normal * along),)

    return y, pull


def local_response_norm(use: Use, x: np.ndarray) -> Ruled:
    layer, channels = use.layer, np.arange(x.shape[1])
    distance = channels - channels[:, None]
    near = ((-distance <= (layer.size - 1) // 2) & (distance <= layer.size // 2)).astype(x.dtype)
    share, beta = layer.alpha / layer.size, layer.beta

    def summed(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:  # over the channels that its rows mark
        return np.asarray((matrix @ values.reshape(values.shape[:2] + (-1,))).reshape(values.shape))

    divisor = layer.bias + share * summed(near, x * x)
    y = x * divisor ** -beta
    return y, lambda gradient: (
        gradient * divisor ** -beta - 2 * beta * share * x * summed(near.T, gradient * y / divisor),)


def layer_norm(use: Use, x: np.ndarray) -> Ruled:
    layer, channels = use.layer, use.axis("C")
    wide = tuple(-1 if axis == channels else 1 for axis in range(x.ndim))
    inverse = 1 / np.sqrt(x.var(channels, keepdims=True) + layer.epsilon)
    normal = (x - x.mean(channels, keepdims=True)) * inverse
    y = normal
    if layer.scale:
        y = y * use.parameters["weight"].reshape(wide)
    if layer.center:
        y = y + use.parameters["bias"].reshape(wide)

    def pull(gradient: np.ndarray) -> Sequence[Optional[np.ndarray]]:
        use.gradients["weight"] = (gradient * normal).sum(use.axes_but_channels())
        use.gradients["bias"] = gradient.sum(use.axes_but_channels())
        if layer.scale:
            gradient = gradient * use.parameters["weight"].reshape(wide)
        common = gradient.mean(channels, keepdims=True)
        along = (gradient * normal).mean(channels, keepdims=True)
        return (inverse * (gradient - common - normal * along),)

    return y, pull


RULES: Rules = {
    layers.BatchNorm: batch_norm, layers.LocalResponseNorm: local_response_norm, layers.LayerNorm: layer_norm,
}
