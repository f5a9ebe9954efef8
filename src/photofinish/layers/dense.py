"""Products with a weight, and tables that are looked up or added."""

import math
from dataclasses import dataclass
from typing import Tuple

from photofinish.layers.base import Layer, Parameter, Spec


@dataclass(frozen=True)
class Linear(Layer):
    """ONNX Gemm with transB=1 on the last axis. Weight: (features, input features)."""

    features: int
    bias: bool = True

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not spec.axes.endswith("C"):
            raise ValueError("acts on a last axis C, got axes {}: flatten first".format(spec.axes))
        return (Spec(spec.axes, spec.shape[:-1] + (self.features,), spec.dtype),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        fan_in = inputs[0].size("C")
        weight = Parameter("weight", (self.features, fan_in), "normal", fan_in, feature_axis=1)
        return (weight, Parameter("bias", (self.features,), "zeros")) if self.bias else (weight,)

    def macs(self, *inputs: Spec) -> int:
        rows = 1
        for size in inputs[0].shape:
            rows *= size
        return rows * self.features


@dataclass(frozen=True)
class Embedding(Layer):
    """ONNX Gather of rows of a table. Weight: (vocabulary, features), which starts with a standard deviation of `gain`.
    Input: integers below `vocabulary`."""

    vocabulary: int
    features: int
    gain: float = 1.0

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not spec.dtype.startswith("int"):
            raise ValueError("looks up integers, got {}".format(spec.dtype))
        return (Spec(spec.axes + "C", spec.shape + (self.features,)),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return (Parameter("weight", (self.vocabulary, self.features), "unit_normal", gain=self.gain),)


@dataclass(frozen=True)
class EmbeddingBag(Layer):
    """The sum of the rows of a table that a list of ids "T" names: ONNX Gather and ReduceSum.

    Weight: (vocabulary, features), of variance 1 / (3 vocabulary) at first, as in DLRM (arXiv 1906.00091). Source:
    PyTorch's EmbeddingBag, mode "sum".
    """

    vocabulary: int
    features: int

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if not spec.dtype.startswith("int") or spec.axes != "T":
            raise ValueError("sums the rows of a list of integers T, got {} with axes {!r}".format(
                spec.dtype, spec.axes))
        return (Spec("C", (self.features,)),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        gain = (3.0 * self.vocabulary) ** -0.5
        return (Parameter("weight", (self.vocabulary, self.features), "unit_normal", gain=gain),)


@dataclass(frozen=True)
class ClassToken(Layer):
    """A learned vector put before a sequence "TC". Weight: (C,). Source: BERT and ViT (arXiv 2010.11929)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        return (spec.resized(T=spec.size("T") + 1),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return (Parameter("weight", (inputs[0].size("C"),), "zeros"),)


@dataclass(frozen=True)
class LearnedPositions(Layer):
    """Adds a learned vector to each position of a sequence "TC". Weight: (length, C), of which the first T are used."""

    length: int
    gain: float = 0.02

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.size("T") > self.length:
            raise ValueError("{} positions, but the table has {}".format(spec.size("T"), self.length))
        return (spec,)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return (Parameter("weight", (self.length, inputs[0].size("C")), "unit_normal", gain=self.gain),)


@dataclass(frozen=True)
class SinusoidalPositions(Layer):
    """Adds sines and cosines of the position to a sequence "TC": channel 2i of position t gets
    sin(t / 10000^(2i/C)), channel 2i + 1 the cosine of the same (Vaswani et al. 2017, arXiv 1706.03762)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.size("C") % 2:
            raise ValueError("needs an even number of channels, got {}".format(spec.size("C")))
        return (spec,)

    @staticmethod
    def table(length: int, channels: int) -> Tuple[Tuple[float, ...], ...]:
        """What is added: (length, channels)."""
        rates = [1e4 ** (-2 * i / float(channels)) for i in range(channels // 2)]
        return tuple(tuple(part(t * rate) for rate in rates for part in (math.sin, math.cos)) for t in range(length))


@dataclass(frozen=True)
class MatMul(Layer):
    """ONNX MatMul of a matrix "TU" and a sequence "TC" of U vectors: position t becomes the sum over u of
    matrix[t, u] * vector[u] (a graph's neighbours, say)."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        matrix, sequence = inputs
        if matrix.axes != "TU" or sequence.axes != "TC" or matrix.size("U") != sequence.size("T"):
            raise ValueError("needs a matrix TU and a sequence of U vectors TC, got {}{} and {}{}".format(
                matrix.axes, matrix.shape, sequence.axes, sequence.shape))
        return (sequence.resized(T=matrix.size("T")),)

    def macs(self, *inputs: Spec) -> int:
        matrix, sequence = inputs
        return matrix.size("T") * sequence.size("T") * sequence.size("C")


@dataclass(frozen=True)
class PairwiseDots(Layer):
    """The dot products of all pairs of different vectors of a sequence "TC": (1,0), (2,0), (2,1), (3,0), ...

    Source: DLRM, Naumov et al. 2019, arXiv 1906.00091.
    """

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        count = inputs[0].size("T")
        return (Spec("C", (count * (count - 1) // 2,), inputs[0].dtype),)

    def macs(self, *inputs: Spec) -> int:
        count = inputs[0].size("T")
        return count * (count - 1) // 2 * inputs[0].size("C")
