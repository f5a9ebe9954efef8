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


def _arrivals(emitted: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The log probability of every way to be in a state at a position: alpha of Graves et al. 2006, section 4.1.

    `states` are the labels with a blank (0) before, between and behind; `emitted` (positions, states) are the log
    probabilities of their symbols. One may stay, go one state on, or skip a blank between two different labels.
    """
    skips = np.zeros(len(states), bool)
    skips[2:] = (states[2:] != 0) & (states[2:] != states[:-2])
    reached = np.full_like(emitted, -np.inf)
    reached[0, :2] = emitted[0, :2]
    for t in range(1, len(emitted)):
        stay = reached[t - 1]
        step, skip = (np.pad(stay[:-by], (by, 0), "constant", constant_values=-np.inf) for by in (1, 2))
        arrived = np.logaddexp(stay, step)
        reached[t] = np.where(skips, np.logaddexp(arrived, skip), arrived) + emitted[t]
    return reached


def ctc(use: Use, logits: np.ndarray, label: np.ndarray) -> Ruled:
    shifted = logits - logits.max(2, keepdims=True)
    scores = shifted - np.log(np.exp(shifted).sum(2, keepdims=True))
    values, share = np.empty_like(scores[:, 0, 0]), np.zeros_like(scores)  # the share of a symbol in all alignments
    for n, symbols in enumerate(label):
        symbols = symbols[symbols != 0]
        states = np.zeros(2 * len(symbols) + 1, int)
        states[1::2] = symbols
        emitted = scores[n][:, states]
        arriving = _arrivals(emitted, states)
        leaving = _arrivals(emitted[::-1, ::-1], states[::-1])[::-1, ::-1]
        values[n] = -np.logaddexp(arriving[-1, -1], arriving[-1, -2])
        np.add.at(share[n].T, states, np.exp(arriving + leaving - emitted + values[n]).T)
    return values, lambda gradient: (gradient[:, None, None] * (np.exp(scores) - share), None)


RULES: Rules = {
    layers.SoftmaxCrossEntropy: softmax_cross_entropy, layers.BinaryCrossEntropy: binary_cross_entropy, layers.CTC: ctc,
}
