"""Convolutions."""

from dataclasses import dataclass
from typing import Tuple

from photofinish.layers.base import Layer, Parameter, Spec
from photofinish.layers.windows import window, windows


@dataclass(frozen=True)
class Conv(Layer):
    """ONNX Conv in two dimensions. Weight: (channels, C / groups, kernel height, kernel width).

    `padding` is (top, left, bottom, right), zeros.
    """

    channels: int
    kernel: Tuple[int, int]
    stride: Tuple[int, int] = (1, 1)
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: Tuple[int, int] = (1, 1)
    groups: int = 1
    bias: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.size("C") % self.groups or self.channels % self.groups:
            raise ValueError("{} groups divide neither {} nor {} channels evenly".format(
                self.groups, spec.size("C"), self.channels))
        height, width = windows(spec, self, self.dilation)
        return (spec.resized(C=self.channels, H=height, W=width),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (self.channels, inputs[0].size("C") // self.groups) + tuple(self.kernel)
        fan_in = shape[1] * shape[2] * shape[3]
        weight = Parameter("weight", shape, "normal", fan_in)
        return (weight, Parameter("bias", (self.channels,), "zeros")) if self.bias else (weight,)

    def macs(self, *inputs: Spec) -> int:
        (out,) = self.outputs(*inputs)
        per_position = self.parameters(*inputs)[0].fan_in
        return self.channels * out.size("H") * out.size("W") * per_position


@dataclass(frozen=True)
class ConvTranspose(Layer):
    """ONNX ConvTranspose in two dimensions. Weight: (C, channels, kernel height, kernel width).

    `padding` is (top, left, bottom, right), taken off the result: H' = (H - 1) * stride + kernel - top - bottom.
    """

    channels: int
    kernel: Tuple[int, int]
    stride: Tuple[int, int] = (1, 1)
    padding: Tuple[int, int, int, int] = (0, 0, 0, 0)
    bias: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        height, width = ((spec.size(axis) - 1) * self.stride[i] + self.kernel[i] - self.padding[i] - self.padding[2 + i]
                         for i, axis in enumerate("HW"))
        return (spec.resized(C=self.channels, H=height, W=width),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (inputs[0].size("C"), self.channels) + tuple(self.kernel)
        weight = Parameter("weight", shape, "normal", shape[0] * shape[2] * shape[3])
        return (weight, Parameter("bias", (self.channels,), "zeros")) if self.bias else (weight,)

    def macs(self, *inputs: Spec) -> int:
        (spec,) = inputs
        return spec.size("H") * spec.size("W") * spec.size("C") * self.channels * self.kernel[0] * self.kernel[1]


@dataclass(frozen=True)
class SequenceConv(Layer):
    """ONNX Conv in one dimension, along axis T of a sequence "TC". Weight: (channels, C / groups, kernel).

    `padding` is (before, after), zeros.
    """

    channels: int
    kernel: int
    stride: int = 1
    padding: Tuple[int, int] = (0, 0)
    groups: int = 1
    bias: bool = False

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.size("C") % self.groups or self.channels % self.groups:
            raise ValueError("{} groups divide neither {} nor {} channels evenly".format(
                self.groups, spec.size("C"), self.channels))
        length = window(spec.size("T"), self.kernel, self.stride, self.padding[0], self.padding[1])
        return (spec.resized(T=length, C=self.channels),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        shape = (self.channels, inputs[0].size("C") // self.groups, self.kernel)
        weight = Parameter("weight", shape, "normal", shape[1] * shape[2])
        return (weight, Parameter("bias", (self.channels,), "zeros")) if self.bias else (weight,)

    def macs(self, *inputs: Spec) -> int:
        (out,) = self.outputs(*inputs)
        return out.size("T") * self.channels * self.parameters(*inputs)[0].fan_in
