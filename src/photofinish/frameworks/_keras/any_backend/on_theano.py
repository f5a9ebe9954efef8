"""What Keras 2 must have otherwise on Theano. Imports neither."""

from typing import ClassVar, Dict, Optional, Tuple, Type

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import native_shape
from photofinish.frameworks._keras.any_backend import source
from photofinish.frameworks._keras.any_backend.source import BackendModule, BackendWriter, in_lambda
from photofinish.frameworks._keras.source import PLAIN
from photofinish.frameworks._keras.use import Printed, Rules, Use
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

LEAST_EPSILON = 1e-5  # of Theano's normalisation, which is cuDNN's, in float32


def _batch_norm(use: Use) -> Printed:
    layer, epsilon = use.layer, use.layer.epsilon
    if epsilon < LEAST_EPSILON:
        raise Unsupported("{}: Theano's batch normalisation takes no epsilon below {}".format(use.name, LEAST_EPSILON))
    if float(np.float32(epsilon)) < LEAST_EPSILON:  # rounded down it would be refused: float32's next number
        epsilon = float("{:.9g}".format(float(np.nextafter(np.float32(epsilon), np.float32(1)))))
    return [use.keras("BatchNormalization", momentum=layer.momentum, epsilon=epsilon,
                      center=None if layer.center else False,
                      scale=None if layer.scale else False).replace("layers.", "", 1)]


def _max_pool(use: Use) -> Printed:
    return [each.replace("layers.MaxPooling2D", "MaxPooling2D") for each in source.RULES[layers.MaxPool](use)]


def _multiply(use: Use) -> Printed:
    """Theano must be told which axes are of length one."""
    if all(spec.shape == use.out.shape for spec in use.specs):
        return source.RULES[layers.Multiply](use)
    return ["layers.Lambda(lambda xs: product(xs), {})([{}])".format(native_shape(use.out), ", ".join(
        "{%d}" % i for i in range(len(use.specs))))]


def _elu(use: Use) -> Printed:
    return [in_lambda("keras.backend.switch(x > 0, x, {!r} * (keras.backend.exp(keras.backend.minimum(x, 0.0)) - 1))"
                      .format(float(use.layer.alpha)), native_shape(use.out))]


RULES: Rules = {**source.RULES, layers.BatchNorm: _batch_norm, layers.MaxPool: _max_pool, layers.Multiply: _multiply,
                layers.Elu: _elu}
LOWERED: Dict[type, str] = {
    layers.MaxPool: "in training the larger of two at a time, for of equal values pool_2d, which Keras' layer is, "
                    "gives all the gradient; in inference Keras' own",
    layers.Elu: "a switch in a Lambda: the gradient of T.nnet.elu, which Keras' layer is, is NaN above 88",
}
LIMITS: Dict[type, str] = {
    layers.BatchNorm: "of an epsilon of at least 1e-5; the running variance is the batch's: Keras on Theano adds "
                      "epsilon to it, and divides it by n - 1 - epsilon",
    layers.Relu: "T.nnet.relu, which lets half of the gradient through where a value is exactly zero",
}

HELPERS = {
    "BatchNormalization": '''
class BatchNormalization(layers.BatchNormalization):
    """The running variance is the batch's: that of Keras has epsilon in it, and is divided by n - 1 - epsilon."""

    def call(self, x, training=None):
        backend, axes = keras.backend, list(range(keras.backend.ndim(x) - 1))
        gamma = backend.ones_like(self.moving_mean) if self.gamma is None else self.gamma
        beta = backend.zeros_like(self.moving_mean) if self.beta is None else self.beta
        normed, mean, variance = backend.normalize_batch_in_training(x, gamma, beta, axes, self.epsilon)
        self.add_update([backend.moving_average_update(kept, now, self.momentum) for kept, now in (
            (self.moving_mean, mean), (self.moving_variance, variance - self.epsilon))], x)
        return backend.in_train_phase(normed, lambda: backend.batch_normalization(
            x, self.moving_mean, self.moving_variance, beta, gamma, epsilon=self.epsilon), training)
''',
    "MaxPooling2D": '''
class MaxPooling2D(layers.MaxPooling2D):
    """Of equal values the first has the gradient: pool_2d, which Keras' layer is, would give it to all of them."""

    def call(self, x):
        pooled, (rows, columns) = super().call(x), keras.backend.int_shape(x)[1:3]
        return keras.backend.in_train_phase(
            lambda: self.largest(self.largest(x, 1, columns), 0, rows), lambda: pooled)

    def largest(self, x, axis, size):
        """Of the windows along an axis of the image, the larger of two at a time."""
        taps, step, before = self.pool_size[axis], self.strides[axis], (slice(None),) * (1 + axis)
        span = (size - taps) // step * step + 1
        found = x[before + (slice(0, span, step),)]
        for i in range(1, taps):
            each = x[before + (slice(i, i + span, step),)]
            found = keras.backend.switch(each > found, each, found)
        return found
''',
    "product": '''
def product(factors):
    """Of tensors some of whose axes have length one, which are stretched."""
    y, backend = 1.0, keras.backend
    for x in factors:
        y = y * backend.pattern_broadcast(x, [size == 1 for size in backend.int_shape(x)])
    return y
''',
}


class Writer(BackendWriter):
    rules: ClassVar[Rules] = RULES


class Module(BackendModule):
    writes: ClassVar[Type[BackendWriter]] = Writer
    own = HELPERS


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN) -> str:
    """Raises Unsupported, naming the layer."""
    return source.written(Module(graph, ""), graph, optimizer)


def level(kind: type, version: str) -> Tuple[str, str]:
    """What is made of a layer, and how or why not."""
    return source.level(kind, LOWERED, LIMITS)
