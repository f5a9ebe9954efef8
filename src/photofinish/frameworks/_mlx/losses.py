"""Losses: what each is called in mlx.nn.losses, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    smoothing = call("", label_smoothing=layer.label_smoothing or None)[1:-1]
    options = ", " + smoothing if smoothing else ""
    if layer.ignore is not None:
        return "counted_cross_entropy({}, {}, {!r}{})".format(prediction, target, layer.ignore, options)
    return 'nn.losses.cross_entropy({}, {}{}, reduction="mean")'.format(prediction, target, options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: (
        'nn.losses.binary_cross_entropy({}, {}, reduction="mean")'.format(prediction, target)),
    layers.CTC: lambda layer, prediction, target, spec: "ctc_loss({}, {})".format(prediction, target),
}

LOWERED = {layers.CTC: "Graves' recursion in Python, a few operations for each position: MLX ships none"}
LIMITS = {layers.SoftmaxCrossEntropy: "labels to ignore are left out by a product"}

HELPERS = {
    "counted_cross_entropy": '''\
def counted_cross_entropy(logits, labels, ignored, label_smoothing=0.0):
    """The mean over the positions whose label is not `ignored`."""
    counted = labels != ignored
    each = nn.losses.cross_entropy(logits, mx.where(counted, labels, 0), label_smoothing=label_smoothing)
    return (each * counted).sum() / counted.sum()
''',
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up, over all
    alignments: alpha of Graves et al. 2006, section 4.1."""
    scores = logits - mx.logsumexp(logits, axis=2, keepdims=True)
    never = -1e30  # the logarithm of nothing, with which one can calculate
    blanks = mx.zeros_like(labels)
    states = mx.concatenate((mx.stack((blanks, labels), axis=2).reshape(labels.shape[0], -1), blanks[:, :1]), axis=1)
    emitted = mx.take_along_axis(scores, mx.broadcast_to(states[:, None], scores.shape[:2] + states.shape[1:]), axis=2)
    skips = (states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2])
    reached = mx.where(mx.arange(states.shape[1]) < 2, emitted[:, 0], never)
    for t in range(1, logits.shape[1]):
        step = mx.pad(reached[:, :-1], ((0, 0), (1, 0)), constant_values=never)
        skip = mx.pad(mx.where(skips, reached[:, :-2], never), ((0, 0), (2, 0)), constant_values=never)
        reached = mx.logsumexp(mx.stack((reached, step, skip)), axis=0) + emitted[:, t]
    last = 2 * (labels != 0).sum(axis=1, keepdims=True)
    ends = mx.take_along_axis(reached, mx.concatenate((last - 1, last), axis=1), axis=1)
    return -mx.logsumexp(ends, axis=1).mean()
''',
}
