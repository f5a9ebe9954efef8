"""Losses: a number from a prediction and a target."""

from dataclasses import dataclass
from typing import Optional, Tuple

from photofinish.layers.base import Layer, Spec


@dataclass(frozen=True)
class SoftmaxCrossEntropy(Layer):
    """ONNX SoftmaxCrossEntropyLoss. Inputs: logits, and integer labels with the same axes but C.

    The mean over batch and positions, without the positions whose label is `ignore`. `label_smoothing` s gives the
    label 1 - s + s/classes and every other class s/classes.
    """

    label_smoothing: float = 0.0
    ignore: Optional[int] = None

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        logits, label = inputs
        positions = tuple(size for axis, size in zip(logits.axes, logits.shape) if axis != "C")
        if "C" not in logits.axes or label.shape != positions or not label.dtype.startswith("int"):
            raise ValueError("needs logits with an axis C and one integer label for each position of them, got axes "
                             "{!r} and a label {} with axes {!r}".format(logits.axes, label.dtype, label.axes))
        return (Spec("", ()),)


@dataclass(frozen=True)
class BinaryCrossEntropy(Layer):
    """The mean of log(1 + exp(-x)) for a label 1 and log(1 + exp(x)) for a label 0 of logits x; labels are floats
    of the same shape, anything between 0 and 1. Source: PyTorch's BCEWithLogitsLoss."""

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        logits, label = inputs
        if logits.shape != label.shape or not label.dtype.startswith("float"):
            raise ValueError("needs a float label for each of the logits {}, got {}{}".format(
                logits.shape, label.dtype, label.shape))
        return (Spec("", ()),)


@dataclass(frozen=True)
class CTC(Layer):
    """Connectionist temporal classification (Graves et al. 2006): the mean over the batch of minus the log
    probability of the label sequence, over all alignments to the T positions of the logits "TC".

    Labels "L" are integers of 1 to C - 1; 0 is the blank, and fills the labels up to their length (at least one
    label must be there). All T positions count.
    """

    def outputs(self, *inputs: Spec) -> Tuple[Spec, ...]:
        logits, label = inputs
        if logits.axes != "TC" or label.axes != "L" or not label.dtype.startswith("int"):
            raise ValueError("needs logits TC and integer labels L, got axes {!r} and {!r} of {}".format(
                logits.axes, label.axes, label.dtype))
        if 2 * label.size("L") > logits.size("T"):
            raise ValueError("{} labels may need {} positions, there are {}".format(
                label.size("L"), 2 * label.size("L"), logits.size("T")))
        return (Spec("", ()),)
