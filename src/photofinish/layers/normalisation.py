"""Normalisations."""

from dataclasses import dataclass
from typing import Tuple

from photofinish.layers.base import Elementwise, Layer, Parameter, Spec


@dataclass(frozen=True)
class BatchNorm(Layer):
    """ONNX BatchNormalization over every axis but C; training mode normalises by the batch.

    The batch is normalised by its population variance. `momentum` keeps the old value (ONNX):
    running = momentum * running + (1 - momentum) * batch. `running_variance` says which variance of
    the batch enters the running one: "sample" (n - 1, as PyTorch) or "population" (n, as Keras).
    """

    epsilon: float = 1e-5
    momentum: float = 0.9
    running_variance: str = "sample"
    scale: bool = True
    center: bool = True

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        spec.size("C")
        return (spec,)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (inputs[0].size("C"),)
        axis = 0 if inputs[0].flattened else None
        weight = (Parameter("weight", shape, "ones", feature_axis=axis),) if self.scale else ()
        bias = (Parameter("bias", shape, "zeros", feature_axis=axis),) if self.center else ()
        return weight + bias

    def state(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (inputs[0].size("C"),)
        axis = 0 if inputs[0].flattened else None
        return (Parameter("running_mean", shape, "zeros", feature_axis=axis),
                Parameter("running_variance", shape, "ones", feature_axis=axis))


@dataclass(frozen=True)
class LayerNorm(Elementwise):
    """ONNX LayerNormalization over axis C alone, at each position (of an image too). Weight, bias: (C,)."""

    epsilon: float = 1e-5
    scale: bool = True
    center: bool = True

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (inputs[0].size("C"),)
        axis = 0 if inputs[0].flattened else None
        weight = (Parameter("weight", shape, "ones", feature_axis=axis),) if self.scale else ()
        return weight + ((Parameter("bias", shape, "zeros", feature_axis=axis),) if self.center else ())


@dataclass(frozen=True)
class LocalResponseNorm(Layer):
    """ONNX LRN of an image: y = x / (bias + alpha / size * s) ** beta, with s the sum of squares over the
    `size` channels around (Krizhevsky et al. 2012, section 3.3, whose alpha is this alpha / size).

    Where `size` is even, one channel more after the middle than before it.
    """

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    bias: float = 1.0

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.axes != "CHW":
            raise ValueError("normalises an image CHW, got axes {}".format(spec.axes))
        return (spec,)
