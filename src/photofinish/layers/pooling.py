"""Pools and means."""

from dataclasses import dataclass
from typing import Tuple

from photofinish.layers.base import Layer, Spec
from photofinish.layers.windows import windows


@dataclass(frozen=True)
class MaxPool(Layer):
    """ONNX MaxPool; padding is minus infinity."""

    kernel: Tuple[int, int]
    stride: Tuple[int, int]
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    ceil: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        height, width = windows(inputs[0], self, ceil=self.ceil)
        return (inputs[0].resized(H=height, W=width),)


@dataclass(frozen=True)
class AveragePool(Layer):
    """ONNX AveragePool; `count_padding` is its count_include_pad."""

    kernel: Tuple[int, int]
    stride: Tuple[int, int]
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    ceil: bool = False
    count_padding: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        height, width = windows(inputs[0], self, ceil=self.ceil)
        return (inputs[0].resized(H=height, W=width),)


@dataclass(frozen=True)
class AdaptiveAveragePool(Layer):
    """PyTorch's adaptive_avg_pool2d: bin i of n covers floor(i*size/n) up to ceil((i+1)*size/n)."""

    size: Tuple[int, int]

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        return (inputs[0].resized(H=self.size[0], W=self.size[1]),)


@dataclass(frozen=True)
class GlobalAveragePool(Layer):
    """ONNX GlobalAveragePool; without `keep_axes` the result is a vector of channels."""

    keep_axes: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        pooled = inputs[0].resized(H=1, W=1)
        return (pooled if self.keep_axes else Spec("C", (pooled.size("C"),), pooled.dtype),)


@dataclass(frozen=True)
class MaskedMean(Layer):
    """The mean over axis T of the positions whose mask is true (at least one must be)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        spec, mask = inputs
        if mask.dtype != "bool" or mask.axes != "T" or mask.size("T") != spec.size("T"):
            raise ValueError("needs a boolean mask over T of length {}".format(spec.size("T")))
        return (Spec("C", (spec.size("C"),), spec.dtype),)
