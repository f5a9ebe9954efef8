"""Losses, as functions of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes == "CHW":  # the classes last
        prediction += ".dimshuffle(0, 2, 3, 1)"
    options = call("", ignore=layer.ignore, smoothing=layer.label_smoothing or None)[1:-1]
    return "cross_entropy({}, {}{})".format(prediction, target, options and ", " + options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: (
        "T.mean(T.nnet.softplus({0}) - {1} * {0})".format(prediction, target)),
    layers.CTC: lambda layer, prediction, target, spec: "ctc_loss({}, {}, {})".format(
        prediction, target, spec.size("C")),
}

LOWERED = {
    layers.BinaryCrossEntropy: "T.nnet.softplus and a product: T.nnet.sigmoid_binary_crossentropy has no gradient, "
                               "which raises \"too many values to unpack\"",
    layers.CTC: "Graves' recursion by theano.scan: Theano's own is Baidu's warp-ctc, a library apart",
}
LIMITS = {
    layers.SoftmaxCrossEntropy: "T.nnet.crossentropy_softmax_1hot; smoothed labels and those to ignore are written out",
}

HELPERS = {
    "cross_entropy": '''\
def cross_entropy(logits, label, ignore=None, smoothing=0.0):
    """The mean over the positions whose label is not `ignore`; the classes are the last axis."""
    logits, label = logits.reshape((-1, logits.shape[logits.ndim - 1])), label.flatten()
    counts = T.ones_like(label) if ignore is None else T.neq(label, ignore)
    loss, _ = T.nnet.crossentropy_softmax_1hot(logits, label * counts)
    if smoothing:
        loss = (1 - smoothing) * loss - smoothing * T.mean(T.nnet.logsoftmax(logits), axis=1)
    counts = T.cast(counts, "float32")
    return T.mean(loss) if ignore is None else T.sum(loss * counts) / T.sum(counts)
''',
    "ctc_loss": '''\
def ctc_loss(logits, labels, classes):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up, over all
    alignments: alpha of Graves et al. 2006, section 4.1."""
    scores, never = T.nnet.logsoftmax(logits.reshape((-1, classes))), np.float32(-1e30)  # the logarithm of nothing
    blanks = T.zeros_like(labels)
    states = T.concatenate([T.stack([blanks, labels], axis=2).flatten(2), blanks[:, :1]], axis=1)
    symbols = T.cast(T.eq(states[:, None, :], np.arange(classes)[:, None]), "float32")  # a one where the state emits it
    emitted = T.batched_dot(scores.reshape(logits.shape), symbols).dimshuffle(1, 0, 2)
    skips = T.neq(states[:, 2:], 0) & T.neq(states[:, 2:], states[:, :-2])
    nothing = T.alloc(never, labels.shape[0], 2)

    def step(now, reached):
        stepped = T.concatenate([nothing[:, :1], reached[:, :-1]], axis=1)
        skipped = T.concatenate([nothing, T.switch(skips, reached[:, :-2], never)], axis=1)
        return log_of_sum(reached, stepped, skipped) + now

    numbers = T.arange(states.shape[1])
    first = T.switch(numbers < 2, emitted[0], never)
    reached, _ = theano.scan(step, sequences=[emitted[1:]], outputs_info=[first])
    last = 2 * T.neq(labels, 0).sum(axis=1)[:, None]
    ends = [T.sum(T.switch(T.eq(numbers, each), reached[-1], 0), axis=1) for each in (last - 1, last)]
    return -T.mean(log_of_sum(*ends))
''',
    "log_of_sum": '''\
def log_of_sum(*logarithms):
    """Of what these are the logarithms of; the largest is taken out first."""
    top = theano.gradient.disconnected_grad(T.max(T.stack(logarithms), axis=0))
    return top + T.log(sum(T.exp(each - top) for each in logarithms))
''',
}
