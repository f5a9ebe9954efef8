"""Losses: what each is called in MindSpore, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import write
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes != "C":  # the classes last, a row for each position
        if spec.axes == "CHW":
            prediction = "ops.transpose({}, (0, 2, 3, 1))".format(prediction)
        prediction = "ops.reshape({}, (-1, {}))".format(prediction, spec.size("C"))
        target = "ops.reshape({}, (-1,))".format(target)
    return write("ops.cross_entropy", prediction, target, ignore_index=layer.ignore,
                 label_smoothing=layer.label_smoothing or None)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: write(
        "binary_cross_entropy", prediction, target),
    layers.CTC: lambda layer, prediction, target, spec: write("ctc_loss", prediction, target),
}

LOWERED = {
    layers.BinaryCrossEntropy: "by operations: in mode pynative the gradient of MindSpore's own stays scaled by the "
                               "first size that it saw in the process",
}

HELPERS = {
    "binary_cross_entropy": '''\
def binary_cross_entropy(logits, labels):
    """The mean, of logits that may be large."""
    return ops.mean(ops.relu(logits) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits))))
''',
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up. The mean of
    ops.ctc_loss divides by the number of labels too."""
    scores = ops.transpose(ops.log_softmax(logits, -1), (1, 0, 2))
    positions = ops.full((labels.shape[0],), logits.shape[1], dtype=ms.int32)
    lengths = ops.sum((labels != 0).astype(ms.int32), 1)
    loss, _ = ops.ctc_loss(scores, labels, positions, lengths, reduction="sum")
    return loss / logits.shape[0]
''',
}
