"""Sums, products, and layers that only move values."""

from dataclasses import dataclass
from typing import Tuple

from photofinish.layers.base import Elementwise, Layer, Parameter, Spec, one_shape


@dataclass(frozen=True)
class Flatten(Layer):
    """ONNX Flatten in canonical (channels first) order."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        count = 1
        for size in spec.shape:
            count *= size
        return (Spec("C", (count,), spec.dtype, flattened=spec.shape),)


@dataclass(frozen=True)
class Add(Layer):
    """ONNX Add of two tensors of one shape."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        return (one_shape(*inputs),)


@dataclass(frozen=True)
class Multiply(Layer):
    """ONNX Mul; an axis of length 1 in one input is stretched to the other's (a gate)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        left, right = inputs
        if left.axes != right.axes:
            raise ValueError("cannot multiply axes {} by {}".format(left.axes, right.axes))
        pairs = tuple(zip(left.shape, right.shape))
        if any(a != b and 1 not in (a, b) for a, b in pairs):
            raise ValueError("cannot multiply shapes {} and {}".format(left.shape, right.shape))
        return (Spec(left.axes, tuple(max(pair) for pair in pairs), left.dtype),)


@dataclass(frozen=True)
class Concat(Layer):
    """ONNX Concat along the axis with that letter."""

    axis: str = "C"

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        first = inputs[0]
        one_shape(*(spec.resized(**{self.axis: 1}) for spec in inputs))
        return (first.resized(**{self.axis: sum(spec.size(self.axis) for spec in inputs)}),)


@dataclass(frozen=True)
class Scale(Elementwise):
    """ONNX Mul by a constant."""

    factor: float


@dataclass(frozen=True)
class Pad(Layer):
    """ONNX Pad with zeros. `padding` is (top, left, bottom, right); a negative amount crops."""

    padding: Tuple[int, int, int, int]

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        top, left, bottom, right = self.padding
        if min(spec.size("H") + min(top, 0) + min(bottom, 0), spec.size("W") + min(left, 0) + min(right, 0)) < 1:
            raise ValueError("padding {} crops all of an image {}".format(self.padding, spec.shape))
        return (spec.resized(H=spec.size("H") + top + bottom, W=spec.size("W") + left + right),)


@dataclass(frozen=True)
class Slice(Layer):
    """ONNX Slice: positions start, ..., stop - 1 of the axis with that letter; 0 <= start < stop."""

    axis: str
    start: int
    stop: int

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not 0 <= self.start < self.stop <= spec.size(self.axis):
            raise ValueError("cannot take {}:{} of {} positions".format(self.start, self.stop, spec.size(self.axis)))
        return (spec.resized(**{self.axis: self.stop - self.start}),)


@dataclass(frozen=True)
class Select(Layer):
    """ONNX Gather of one position of the axis with that letter, which is gone from the result."""

    axis: str
    index: int

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not 0 <= self.index < spec.size(self.axis):
            raise ValueError("there is no position {} of {}".format(self.index, spec.size(self.axis)))
        kept = [pair for pair in zip(spec.axes, spec.shape) if pair[0] != self.axis]
        return (Spec("".join(axis for axis, _ in kept), tuple(size for _, size in kept), spec.dtype),)


@dataclass(frozen=True)
class Stack(Layer):
    """ONNX Concat of vectors "C" along a new first axis: a sequence "TC"."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        first = one_shape(*inputs)
        if first.axes != "C":
            raise ValueError("stacks vectors C, got axes {}".format(first.axes))
        return (Spec("TC", (len(inputs),) + first.shape, first.dtype),)


@dataclass(frozen=True)
class ImageToSequence(Layer):
    """ONNX Transpose and Reshape of an image "CHW" to a sequence "TC" of its positions, row by row."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        return (Spec("TC", (spec.size("H") * spec.size("W"), spec.size("C")), spec.dtype),)


@dataclass(frozen=True)
class RowsToSequence(Layer):
    """ONNX Transpose and Reshape of an image "CHW" to a sequence "TC" of its rows.

    Step t holds row t: its W positions one after the other, each with all its channels.
    """

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        return (Spec("TC", (spec.size("H"), spec.size("W") * spec.size("C")), spec.dtype),)


@dataclass(frozen=True)
class ChannelScale(Elementwise):
    """ONNX Mul by a learned factor per channel, which starts at `initial`. Weight: (C,).

    Source: LayerScale, Touvron et al. 2021, arXiv 2103.17239.
    """

    initial: float = 1.0

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        axis = 0 if inputs[0].flattened else None
        return (Parameter("weight", (inputs[0].size("C"),), "ones", gain=self.initial, feature_axis=axis),)
