"""Losses, as functions of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes == "CHW":  # the classes last
        prediction = "C.transpose({}, (1, 2, 0))".format(prediction)
    options = call("", ignore=layer.ignore, smoothing=layer.label_smoothing or None)[1:-1]
    return "cross_entropy({}, {}{})".format(prediction, target, options and ", " + options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: "mean(C.softplus({0}) - {1} * {0})".format(
        prediction, target),
}

LOWERED = {layers.BinaryCrossEntropy: "C.softplus and a product: C.binary_cross_entropy takes probabilities"}
LIMITS = {layers.SoftmaxCrossEntropy: "of labels made vectors of zeros and a one, which are smoothed and ignored here"}
ABSENT = {layers.CTC: "CNTK's is of sequences whose lengths differ, which nobody has written"}

HELPERS = {
    "mean": '''\
def mean(x):
    """Of a batch, all positions alike."""
    return C.reduce_mean(x, axis=C.Axis.all_axes())
''',
    "cross_entropy": '''\
def cross_entropy(logits, label, ignore=None, smoothing=0.0):
    """The mean over the positions whose label is not `ignore`; the classes are the last axis."""
    axis, classes = len(logits.shape) - 1, logits.shape[-1]
    counts = C.ones_like(label) if ignore is None else C.not_equal(label, ignore)
    vector = (1 - smoothing) * C.one_hot(label * counts, classes) + smoothing / classes
    logits = logits - C.stop_gradient(C.reduce_max(logits, axis=axis))  # of large ones the loss loses digits
    loss = C.reshape(C.cross_entropy_with_softmax(logits, vector, axis=axis), label.shape)
    if ignore is None:
        return mean(loss)
    return C.reduce_sum(counts * loss, axis=C.Axis.all_axes()) / C.reduce_sum(counts, axis=C.Axis.all_axes())
''',
}
