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
    layers.CTC: lambda layer, target, logits: "ctc_loss({}, {})".format(target, logits),
}
COMPILED: Dict[type, Callable[..., str]] = {  # what stands in for a loss that XLA cannot compile
    layers.CTC: lambda layer, target, logits: "dense_ctc_loss({}, {})".format(target, logits),
}

LIMITS = {
    layers.SoftmaxCrossEntropy: "labels to ignore are left out by a product; smoothed ones are written out for every "
                                "class",
    layers.CTC: "the kernel is infinite where all alignments pass a symbol less likely than float32's least number; "
                "XLA cannot compile it: there TensorFlow's dense algorithm stands in, in float32 only",
}

HELPERS = {
    "ctc_loss": '''
def ctc_loss(labels, logits):
    """Minus the log probability of each sample's labels, which blanks (0) fill up. With sparse labels
    TensorFlow runs its kernel."""
    labels = tf.cast(labels, tf.int32)
    positions = tf.fill(tf.shape(labels)[:1], logits.shape[1])
    return tf.nn.ctc_loss(tf.sparse.from_dense(labels), logits, None, positions, logits_time_major=False, blank_index=0)
''',
    "dense_ctc_loss": '''
def dense_ctc_loss(labels, logits):
    """Minus the log probability of each sample's labels, which blanks (0) fill up."""
    counts = tf.math.count_nonzero(labels, 1, dtype=tf.int32)
    positions = tf.fill(tf.shape(counts), logits.shape[1])
    return tf.nn.ctc_loss(labels, logits, counts, positions, logits_time_major=False)
''',
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
    if smoothing:
        other = smoothing / logits.shape[-1]
        wanted = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + other, other, dtype=logits.dtype)
        each = tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
    else:
        each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    share = tf.cast(counted, logits.dtype)
    return each * share / tf.reduce_mean(share)
''',
}
