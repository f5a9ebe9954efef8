"""Losses, as functions of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes == "CHW":  # the classes last
        prediction += ".transpose(0, 2, 3, 1)"
    options = call("", ignore=layer.ignore, smoothing=layer.label_smoothing or None)[1:-1]
    return "cross_entropy({}, {}{})".format(prediction, target, options and ", " + options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: (
        "pt.mean(pt.softplus({0}) - {1} * {0})".format(prediction, target)),
    layers.CTC: lambda layer, prediction, target, spec: "ctc_loss({}, {})".format(prediction, target),
}

LOWERED = {
    layers.SoftmaxCrossEntropy: "pt.special.log_softmax and the values at the labels",
    layers.BinaryCrossEntropy: "pt.softplus and a product",
    layers.CTC: "Graves' recursion by pytensor.scan, a few operations for each position",
}

HELPERS = {
    "cross_entropy": '''\
def cross_entropy(logits, label, ignore=None, smoothing=0.0):
    """The mean over the positions whose label is not `ignore`; the classes are the last axis."""
    scores, label = pt.special.log_softmax(logits, axis=-1).reshape((-1, logits.type.shape[-1])), label.flatten()
    counts = None if ignore is None else pt.neq(label, ignore)
    label = label if ignore is None else label * counts
    loss = -(1 - smoothing) * scores[pt.arange(label.shape[0]), label]
    if smoothing:
        loss = loss - smoothing * pt.mean(scores, axis=1)
    return pt.mean(loss) if ignore is None else pt.sum(loss * counts.astype("float32")) / counts.sum().astype("float32")
''',
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up, over all
    alignments: alpha of Graves et al. 2006, section 4.1."""
    scores, never = pt.special.log_softmax(logits, axis=2), np.float32(-1e30)  # instead of the logarithm of nothing
    samples = pt.arange(labels.shape[0])[:, None]
    blanks = pt.zeros_like(labels)
    states = pt.concatenate([pt.stack([blanks, labels], axis=2).flatten(2), blanks[:, :1]], axis=1)
    emitted = scores.transpose(1, 0, 2)[:, samples, states]
    skips = pt.neq(states[:, 2:], 0) & pt.neq(states[:, 2:], states[:, :-2])
    nothing = pt.full((labels.shape[0], 2), never)

    def step(now, reached):
        stepped = pt.concatenate([nothing[:, :1], reached[:, :-1]], axis=1)
        skipped = pt.concatenate([nothing, pt.switch(skips, reached[:, :-2], never)], axis=1)
        return log_of_sum(reached, stepped, skipped) + now

    first = pt.switch(pt.arange(states.shape[1]) < 2, emitted[0], never)
    reached = pytensor.scan(step, sequences=[emitted[1:]], outputs_info=[first], return_updates=False)[-1]
    last = 2 * pt.neq(labels, 0).sum(axis=1)[:, None]
    ends = reached[samples, pt.concatenate([last - 1, last], axis=1)]
    return -pt.mean(log_of_sum(ends[:, 0], ends[:, 1]))
''',
    "log_of_sum": '''\
def log_of_sum(*logarithms):
    """Of what these are the logarithms of; the largest is taken out first."""
    top = pytensor.gradient.disconnected_grad(pt.max(pt.stack(logarithms), axis=0))
    return top + pt.log(sum(pt.exp(each - top) for each in logarithms))
''',
}
