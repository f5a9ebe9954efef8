"""Losses: what each is called in Gluon, as a function of the texts of prediction and target. Each is one number."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    last = spec.axes.endswith("C")
    if not last and layer.label_smoothing == 0 and layer.ignore is None:
        return "F.mean(pixel_loss({}, {}))".format(prediction, target)
    options = "" if last else ", axis={}".format(1 + spec.axes.index("C"))
    options += ", smoothing={!r}".format(layer.label_smoothing) if layer.label_smoothing else ""
    options += "" if layer.ignore is None else ", ignore={}".format(layer.ignore)
    return "cross_entropy(F, {}, {}{})".format(prediction, target, options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: "F.mean(binary_loss({}, {}))".format(
        prediction, target),
    layers.CTC: lambda layer, prediction, target, spec: (
        'F.mean(F.CTCLoss(F.swapaxes({}, 0, 1), {}, blank_label="first"))'.format(prediction, target)),
}

LIMITS = {layers.SoftmaxCrossEntropy: "written out but for pixels: on a last axis oneDNN's logarithms are wrong "
                                      "by 1e-6; labels are not smoothed or left out in Gluon"}

HELPERS = {
    "pixel_loss": "pixel_loss = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)\n",
    "binary_loss": "binary_loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()\n",
    "cross_entropy": '''\
def cross_entropy(F, logits, label, axis=-1, smoothing=0.0, ignore=None):
    """The mean over all labels but those to ignore; `smoothing` is shared out among all classes."""
    log_probability = F.log_softmax(logits, axis=axis, temperature=1.0)  # MXNet's own: oneDNN's, without, is coarse
    losses = -F.pick(log_probability, label, axis=axis)
    if smoothing:
        losses = (1 - smoothing) * losses - smoothing * F.mean(log_probability, axis=axis)
    if ignore is None:
        return F.mean(losses)
    counted = F.cast(label != ignore, dtype="float32")
    return F.sum(losses * counted) / F.sum(counted)
''',
}
