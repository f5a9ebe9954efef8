"""Losses: what each is called in TensorFlow, as a function of the texts of target and prediction (an expression of
values, one or more, whose mean is the loss), and in Keras, as an object that compile() takes."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import call


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


def _cross_entropy_object(layer: layers.SoftmaxCrossEntropy) -> str:
    if layer.label_smoothing:
        return call("SmoothedCrossEntropy", layer.label_smoothing, ignored=layer.ignore)
    return call("keras.losses.SparseCategoricalCrossentropy", from_logits=True, ignore_class=layer.ignore)


OBJECTS: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy_object,
    layers.BinaryCrossEntropy: lambda layer: "keras.losses.BinaryCrossentropy(from_logits=True)",
    layers.CTC: lambda layer: "CTC()",
}

LIMITS = {
    layers.SoftmaxCrossEntropy: "labels to ignore are left out by a product; smoothed ones are written out for every "
                                "class",
    layers.CTC: "contender tensorflow has TensorFlow's kernel, infinite where all alignments pass a symbol less likely "
                "than float32's least number; XLA cannot compile it: there, as in Keras' own loss, TensorFlow's dense "
                "algorithm stands in, in float32 only",
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

PORTABLE = {
    "CTC": '''
class CTC(keras.losses.Loss):
    """As keras.losses.CTC, but that one hands PyTorch its labels as floats, which PyTorch refuses."""

    def call(self, labels, logits):
        return keras.losses.ctc(ops.cast(labels, "int32"), logits)
''',
    "SmoothedCrossEntropy": '''
class SmoothedCrossEntropy(keras.losses.Loss):
    """Cross entropy of numbered classes with label smoothing: Keras has that for one-hot labels only. Positions whose
    label is `ignored` count for nothing, the others so much more that the mean is theirs."""

    def __init__(self, smoothing, ignored=None):
        super().__init__()
        self.smoothing, self.ignored = smoothing, ignored

    def call(self, labels, logits):
        labels, share = ops.cast(labels, "int32"), 1.0
        if self.ignored is not None:
            counted = labels != self.ignored
            labels, share = ops.where(counted, labels, 0), ops.cast(counted, logits.dtype)
            share /= ops.mean(share)
        wanted = ops.one_hot(labels, logits.shape[-1], dtype=logits.dtype)
        wanted = wanted * (1 - self.smoothing) + self.smoothing / logits.shape[-1]
        return ops.categorical_crossentropy(wanted, logits, from_logits=True) * share
''',
}
