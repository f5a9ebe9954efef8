"""Losses: what each is called in optax, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if layer.ignore is not None:
        return "counted_cross_entropy({}, {}, {!r}, {!r})".format(
            prediction, target, layer.label_smoothing, layer.ignore)
    if layer.label_smoothing:
        return "smoothed_cross_entropy({}, {}, {!r}).mean()".format(prediction, target, layer.label_smoothing)
    return "optax.softmax_cross_entropy_with_integer_labels({}, {}).mean()".format(prediction, target)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: (
        "optax.sigmoid_binary_cross_entropy({}, {}).mean()".format(prediction, target)),
    layers.CTC: lambda layer, prediction, target, spec: "ctc_loss({}, {}).mean()".format(prediction, target),
}

LIMITS = {
    layers.SoftmaxCrossEntropy: "labels to ignore are left out by a product; smoothed ones are written out for every "
                                "class",
}

HELPERS = {
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """Minus the log probability of each sample's labels, which blanks (0) fill up."""
    everywhere = jnp.zeros(logits.shape[:2], logits.dtype)
    return optax.ctc_loss(logits, everywhere, labels, (labels == 0).astype(logits.dtype))
''',
    "counted_cross_entropy": '''\
def counted_cross_entropy(logits, labels, smoothing, ignored):
    """The mean over the positions whose label is not `ignored`."""
    counted = labels != ignored
    labels = jnp.where(counted, labels, 0)
    each = (smoothed_cross_entropy(logits, labels, smoothing) if smoothing
            else optax.softmax_cross_entropy_with_integer_labels(logits, labels))
    return (each * counted).sum() / counted.sum()
''',
    "smoothed_cross_entropy": '''\
def smoothed_cross_entropy(logits, labels, smoothing):
    wanted = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype), smoothing)
    return optax.softmax_cross_entropy(logits, wanted)
''',
}
