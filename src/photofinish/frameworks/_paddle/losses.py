"""Losses: what each is called in Paddle, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._paddle.native import write
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    axis = None if spec.axes.endswith("C") else 1 + spec.axes.index("C")
    if layer.label_smoothing and (axis or layer.ignore is not None):
        return write("smoothed_cross_entropy", prediction, target, layer.label_smoothing, ignore=layer.ignore,
                     axis=axis)
    mean = layer.ignore is None or layer.ignore >= 0  # Paddle's own divides by all labels where that is below 0
    text = write("F.cross_entropy", prediction, target, ignore_index=layer.ignore, axis=axis,
                 label_smoothing=layer.label_smoothing or None, reduction=None if mean else "sum")
    return text if mean else '{} / ({} != {}).astype("float32").sum()'.format(text, target, layer.ignore)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: write(
        "F.binary_cross_entropy_with_logits", prediction, target),
    layers.CTC: lambda layer, prediction, target, spec: write("ctc_loss", prediction, target),
}

LIMITS = {layers.SoftmaxCrossEntropy: "a loss above 64 is told as 64 or so (its gradient is right): Paddle clips what "
                                      "its softmax takes; smoothed labels of an image, or of which some are ignored, "
                                      "by operations: its own smooths along the last axis and then ignores none"}

HELPERS = {
    "smoothed_cross_entropy": '''\
def smoothed_cross_entropy(logits, label, smoothing, ignore=None, axis=-1):
    """The mean over the positions whose label is not `ignore` of the cross entropy with a smoothed label."""
    log_probability = F.log_softmax(logits, axis)
    counts = paddle.ones_like(label, "float32") if ignore is None else (label != ignore).astype("float32")
    known = label * counts.astype(label.dtype)
    chosen = paddle.take_along_axis(log_probability, known.unsqueeze(axis), axis).squeeze(axis)
    each = (1 - smoothing) * chosen + smoothing * log_probability.mean(axis)
    return -(each * counts).sum() / counts.sum()
''',
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up. F.ctc_loss takes
    the softmax itself; its own mean divides by the number of labels too."""
    positions = paddle.full([logits.shape[0]], logits.shape[1], "int64")
    lengths = (labels != 0).astype("int64").sum(1)
    total = F.ctc_loss(paddle.transpose(logits, (1, 0, 2)), labels.astype("int32"), positions, lengths, reduction="sum")
    return total / logits.shape[0]
''',
}
