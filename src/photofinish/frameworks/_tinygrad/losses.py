"""Losses: what each is called in tinygrad, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes == "CHW":  # the classes last
        prediction += ".permute(0, 2, 3, 1)"
    options = call("", ignore_index=layer.ignore, label_smoothing=layer.label_smoothing or None)[1:-1]
    return "{}.sparse_categorical_crossentropy({}{})".format(prediction, target, options and ", " + options)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: (
        "{}.binary_crossentropy_logits({})".format(prediction, target)),
    layers.CTC: lambda layer, prediction, target, spec: "ctc_loss({}, {})".format(prediction, target),
}

LOWERED = {layers.CTC: "Graves' recursion, unrolled, a few operations for each position: tinygrad ships none"}

HELPERS = {
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up, over all
    alignments: alpha of Graves et al. 2006, section 4.1."""
    scores, never = logits.log_softmax(2), -1e30  # the logarithm of nothing, with which one can calculate
    blanks = labels.zeros_like()
    states = blanks.stack(labels, dim=2).flatten(1).cat(blanks[:, :1], dim=1)
    emitted = scores.gather(2, states.unsqueeze(1).expand(-1, scores.shape[1], -1))
    skips = (states[:, 2:] != 0) & (states[:, 2:] != states[:, :-2])
    reached = (Tensor.arange(states.shape[1]) < 2).where(emitted[:, 0], never)
    for t in range(1, logits.shape[1]):
        step = reached[:, :-1].pad((1, 0), value=never)
        skip = skips.where(reached[:, :-2], never).pad((2, 0), value=never)
        reached = reached.stack(step, skip).logsumexp(0) + emitted[:, t]
    last = 2 * (labels != 0).sum(1, keepdim=True)
    return -reached.gather(1, (last - 1).cat(last, dim=1)).logsumexp(1).mean()
''',
}
