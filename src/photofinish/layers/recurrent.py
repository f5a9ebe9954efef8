"""Loops over time."""

from dataclasses import dataclass
from typing import Any, Tuple

from photofinish.layers.base import Layer, Parameter, Spec


@dataclass(frozen=True)
class Scan(Layer):
    """ONNX Scan over axis T: `body` maps (carry, step input) to (carry, step output).

    Inputs: the first carry and a sequence "TC". Outputs: the last carry and the stacked sequence.
    The body's parameters belong to this layer, under the body's own names.
    """

    body: Any  # graph.Graph: typed loosely because graph.py stands on this file

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        carry, sequence = inputs
        step_out = self.body.spec(self.body.outputs[1])
        length = sequence.size("T")
        return (carry, Spec("T" + step_out.axes, (length,) + step_out.shape, step_out.dtype))

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        return tuple(self.body.parameters.values())

    def macs(self, *inputs: Spec) -> int:
        return inputs[1].size("T") * int(self.body.macs)


class Recurrent(Layer):
    """A gated recurrent layer over a sequence "TC", from a state of zeros: a sequence of `features` values, twice as
    many where it is `bidirectional` (the forward ones first). It runs over all positions: nothing is masked or packed.

    Parameters of a direction: input_weight (gates * features, C), recurrent_weight (gates * features, features),
    biases (gates * features); those of the backward direction are called backward_input_weight and so on.
    """

    gates = 0
    features: int
    bidirectional: bool

    def biases(self) -> Tuple[str, ...]:
        """The names of the bias vectors of one direction."""
        raise NotImplementedError(type(self).__name__)

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        (spec,) = inputs
        if spec.axes != "TC":
            raise ValueError("runs over a sequence TC, got axes {}".format(spec.axes))
        return (spec.resized(C=self.features * (2 if self.bidirectional else 1)),)

    def parameters(self, *inputs: Spec) -> Tuple[Parameter, ...]:
        channels, rows = inputs[0].size("C"), self.gates * self.features
        found: Tuple[Parameter, ...] = ()
        for direction in ("", "backward_") if self.bidirectional else ("",):
            found += (Parameter(direction + "input_weight", (rows, channels), "normal", 2 * channels),
                      Parameter(direction + "recurrent_weight", (rows, self.features), "normal", 2 * self.features))
            found += tuple(Parameter(direction + name, (rows,), "zeros") for name in self.biases())
        return found

    def macs(self, *inputs: Spec) -> int:
        (spec,) = inputs
        directions = 2 if self.bidirectional else 1
        return spec.size("T") * directions * self.gates * self.features * (spec.size("C") + self.features)


@dataclass(frozen=True)
class LSTM(Recurrent):
    """ONNX LSTM; gates in the order input, forget, cell, output (PyTorch's and Keras').

    `double_bias`: an input_bias and a recurrent_bias, both added (PyTorch, cuDNN), or one `bias` (Keras). The
    function is the same; the number of parameters and the size of an update are not.
    """

    features: int
    bidirectional: bool = False
    double_bias: bool = False
    gates = 4

    def biases(self) -> Tuple[str, ...]:
        return ("input_bias", "recurrent_bias") if self.double_bias else ("bias",)


@dataclass(frozen=True)
class GRU(Recurrent):
    """ONNX GRU; gates in the order update, reset, hidden (ONNX's and Keras').

    `reset_after` is ONNX's linear_before_reset: the reset gate multiplies the recurrent product (PyTorch, cuDNN;
    biases input_bias and recurrent_bias), or the state before it (Cho et al. 2014, arXiv 1406.1078; one `bias`).
    """

    features: int
    bidirectional: bool = False
    reset_after: bool = True
    gates = 3

    def biases(self) -> Tuple[str, ...]:
        return ("input_bias", "recurrent_bias") if self.reset_after else ("bias",)
