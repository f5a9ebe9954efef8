"""Losses: what each is called in TensorFlow, as a function of the texts of target and prediction.

An expression of values, one or more, whose mean is the loss.
"""

from typing import Callable, Dict

from photofinish import layers


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, target: str, logits: str) -> str:
    if layer.ignore is not None:
        return "counted_cross_entropy({}, {}, {!r}, {!r})".format(target, logits, layer.label_smoothing, layer.ignore)
    if layer.label_smoothing:
        return "smoothed_cross_entropy({}, {}, {!r})".format(target, logits, layer.label_smoothing)
    return "tf.nn.sparse_softmax_cross_entropy_with_logits({}, {})".format(target, logits)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, target, logits: (
        "tf.nn.sigmoid_cross_entropy_with_logits({}, {})".format(target, logits)),
}

HELPERS = {
    "smoothed_cross_entropy": '''
def smoothed_cross_entropy(labels, logits, smoothing):
    other = smoothing / logits.shape[-1]
    wanted = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + other, other, dtype=logits.dtype)
    return tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
''',
    "counted_cross_entropy": '''
def counted_cross_entropy(labels, logits, smoothing, ignored):
    """Positions whose label is `ignored` count for nothing, the others so much more that the mean is theirs."""
    counted = labels != ignored
    labels = tf.where(counted, labels, 0)
    other = smoothing / logits.shape[-1]
    wanted = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + other, other, dtype=logits.dtype)
    each = (tf.nn.softmax_cross_entropy_with_logits(wanted, logits) if smoothing
            else tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    share = tf.cast(counted, logits.dtype)
    return each * share / tf.reduce_mean(share)
''',
}
