"""Losses: what each is called in PyTorch, as a function of the texts of prediction and target."""

from typing import Callable, Dict

from photofinish import layers
from photofinish.frameworks._torch.native import write
from photofinish.layers import Spec


def _cross_entropy(layer: layers.SoftmaxCrossEntropy, prediction: str, target: str, spec: Spec) -> str:
    if spec.axes == "TC":  # PyTorch has the classes in front of the positions
        prediction, target = prediction + ".flatten(0, 1)", target + ".flatten()"
    return write("F.cross_entropy", prediction, target, ignore_index=-100 if layer.ignore is None else layer.ignore,
                 label_smoothing=layer.label_smoothing)


LOSSES: Dict[type, Callable[..., str]] = {
    layers.SoftmaxCrossEntropy: _cross_entropy,
    layers.BinaryCrossEntropy: lambda layer, prediction, target, spec: write(
        "F.binary_cross_entropy_with_logits", prediction, target),
    layers.CTC: lambda layer, prediction, target, spec: write("ctc_loss", prediction, target),
}

HELPERS = {
    "ctc_loss": '''\
def ctc_loss(logits, labels):
    """The mean over the batch of minus the log probability of its labels, which blanks (0) fill up. F.ctc_loss's
    own mean divides by the number of labels too."""
    log_probability = F.log_softmax(logits, 2).transpose(0, 1)
    positions = torch.full_like(labels[:, 0], logits.shape[1])
    total = F.ctc_loss(log_probability, labels, positions, (labels != 0).sum(1), reduction="sum")
    return total / labels.shape[0]
''',
}
