"""Losses: values whose mean is the loss."""

import numpy as np

from photofinish import layers
from photofinish.frameworks._numpy.activation import logistic
from photofinish.frameworks._numpy.base import Ruled, Rules, Use


def softmax_cross_entropy(use: Use, logits: np.ndarray, label: np.ndarray) -> Ruled:
    channels = use.axis("C")
    shifted = logits - logits.max(channels, keepdims=True)  # exp of nothing above 0
    log_probability = shifted - np.log(np.exp(shifted).sum(channels, keepdims=True))
    counted = np.ones(label.shape, bool) if use.layer.ignore is None else label != use.layer.ignore
    share = counted.astype(logits.dtype) * (label.size / float(counted.sum()))  # the mean is over those that count
    smoothing, classes = use.layer.label_smoothing, logits.shape[channels]
    chosen = np.moveaxis(np.where(counted, label, 0)[..., None] == np.arange(classes), -1, channels)
    wanted = chosen.astype(logits.dtype) * (1 - smoothing) + smoothing / classes
    return -(wanted * log_probability).sum(channels) * share, lambda gradient: (
        np.expand_dims(gradient * share, channels) * (np.exp(log_probability) - wanted), None)


def binary_cross_entropy(use: Use, logits: np.ndarray, label: np.ndarray) -> Ruled:
    return np.logaddexp(0, logits) - label * logits, lambda gradient: (gradient * (logistic(logits) - label), None)


RULES: Rules = {layers.SoftmaxCrossEntropy: softmax_cross_entropy, layers.BinaryCrossEntropy: binary_cross_entropy}
