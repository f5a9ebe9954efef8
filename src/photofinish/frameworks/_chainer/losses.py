"""Losses: what each is called in Chainer, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes == "TC":  # Chainer has the classes in front of the positions
        prediction, target = "F.reshape({}, (-1, {}))".format(prediction, spec.size("C")), target + ".ravel()"
    options = ", smoothing={!r}".format(layer.label_smoothing) if layer.label_smoothing else ""
    options += "" if layer.ignore is None else ", ignore_label={}".format(layer.ignore)
    return "cross_entropy({}, {}{})".format(prediction, target, options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: "F.mean(F.softplus({0}) - {0} * {1})".format(
        prediction, target),
    layers.CTC: lambda layer, prediction, target, spec: (
        "F.connectionist_temporal_classification(F.separate({}, axis=1), {target}, 0, "
        "label_length=np.sum({target} != 0, axis=1, dtype=np.int32))".format(prediction, target=target)),
}

LOWERED = {
    layers.BinaryCrossEntropy: "F.softplus and a product: F.sigmoid_cross_entropy takes whole numbers for labels",
}
LIMITS = {
    layers.SoftmaxCrossEntropy: "the largest logit is taken off first, or Chainer's loss loses digits of large ones; "
                                "smoothed labels are written out",
}

HELPERS = {
    "cross_entropy": '''\
def cross_entropy(x, t, smoothing=0.0, ignore_label=-1):
    """The mean over all labels but those to ignore; `smoothing` is shared out among all classes."""
    x = x - np.broadcast_to(x.array.max(axis=1, keepdims=True), x.shape)  # of large ones the loss loses digits
    loss = F.softmax_cross_entropy(x, t, ignore_label=ignore_label)
    if not smoothing:
        return loss
    counted = (t != ignore_label).astype(x.dtype)
    even = -F.sum(F.mean(F.log_softmax(x, axis=1), axis=1) * (counted / counted.sum()))
    return (1 - smoothing) * loss + smoothing * even
''',
}
