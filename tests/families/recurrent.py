"""Layers of models of speech and translation: gated loops, attention by sums, convolutions along time, CTC."""

from collections.abc import Callable, Iterable
from itertools import groupby, product
from math import exp

import numpy as np
from scipy import special

from families.common import Case, between, head
from photofinish import layers
from photofinish.frameworks.numpy import Use
from photofinish.graph import Tensor, loss, record
from photofinish.layers import CTC, Spec
from photofinish.vocabulary import (
    additive_attention,
    concat,
    conv,
    gru,
    linear,
    lstm,
    rows_to_sequence,
    sequence_conv,
)

SEQUENCE = {"sequence": Spec("TC", (7, 6))}
MEMORY = {"memory": Spec("TC", (5, 4)), "seen": Spec("T", (5,), "bool")}
IMAGE = {"image": Spec("CHW", (4, 7, 5))}

# What is done to 7 steps of 6 that came out of a linear layer, or to an image of 4x7x5 that came out of a convolution.
ON_SEQUENCES: dict[str, Callable[[Tensor], Tensor]] = {
    "lstm": lambda x: lstm(x, 5),
    "lstm-bidirectional": lambda x: lstm(x, 5, bidirectional=True),
    "lstm-double-bias": lambda x: lstm(x, 5, double_bias=True),
    "lstm-double-bias-bidirectional": lambda x: lstm(x, 5, bidirectional=True, double_bias=True),
    "lstm-twice": lambda x: lstm(lstm(x, 4, bidirectional=True), 3),
    "gru": lambda x: gru(x, 5),
    "gru-bidirectional": lambda x: gru(x, 5, bidirectional=True),
    "gru-reset-before": lambda x: gru(x, 5, reset_after=False),
    "gru-reset-before-bidirectional": lambda x: gru(x, 5, bidirectional=True, reset_after=False),
    "sequence-conv": lambda x: sequence_conv(x, 4, 3),
    "sequence-conv-bias": lambda x: sequence_conv(x, 4, 3, bias=True),
    "sequence-conv-1": lambda x: sequence_conv(x, 4, 1),
    "sequence-conv-strided": lambda x: sequence_conv(x, 4, 3, stride=2),
    "sequence-conv-stride-and-rest": lambda x: sequence_conv(x, 4, 3, stride=3, padding=(0, 1)),
    "sequence-conv-same-padding": lambda x: sequence_conv(x, 4, 4, padding=(1, 2)),
    "sequence-conv-causal": lambda x: sequence_conv(x, 4, 3, padding=(2, 0)),
    "sequence-conv-groups": lambda x: sequence_conv(x, 4, 3, groups=2, bias=True),
    "sequence-conv-depthwise": lambda x: sequence_conv(x, 6, 4, padding=(1, 2), groups=6, bias=True),
    "sequence-conv-depthwise-strided": lambda x: sequence_conv(x, 6, 3, stride=2, groups=6),
    "sequence-conv-depthwise-multiplied": lambda x: sequence_conv(x, 12, 3, groups=6),
}
ON_IMAGES: dict[str, Callable[[Tensor], Tensor]] = {"rows-to-sequence": rows_to_sequence}


def on_memory(masked: bool) -> Callable[..., tuple[Tensor, ...]]:
    """Additive attention of 7 steps to 5 others."""
    def model(x: Tensor, memory: Tensor, seen: Tensor) -> tuple[Tensor, ...]:
        query, key = linear(x, 6, bias=False, name="query"), linear(memory, 6, bias=False, name="key")
        y = additive_attention(query, key, linear(memory, 3, name="value"), seen if masked else None)
        return y, head(y)
    return model


def transcribed(labels: int, weight: float = 1.0) -> Callable[[Tensor], Tensor]:
    def model(x: Tensor) -> Tensor:
        logits = linear(x, 4, name="symbols")
        loss(CTC(), logits, "transcript", Spec("L", (labels,), "int32"), weight)
        return logits
    return model


def cases() -> dict[str, Case]:
    found = {name: Case(record(between(function, lambda x: linear(x, 6, name="entry")), SEQUENCE))
             for name, function in ON_SEQUENCES.items()}
    found.update({name: Case(record(between(function, lambda x: conv(x, 4, 1, name="entry")), IMAGE))
                  for name, function in ON_IMAGES.items()})
    # Far from zero: where the gates saturate.
    for name in ("lstm", "gru", "gru-reset-before"):
        found[name + "-far"] = Case(found[name].graph, gain=10.0)
    found["additive-attention"] = Case(record(on_memory(False), {**SEQUENCE, **MEMORY}))
    found["additive-attention-masked"] = Case(record(on_memory(True), {**SEQUENCE, **MEMORY}))
    for name, labels in {"ctc": 2, "ctc-as-long-as-can-be": 3, "ctc-one-label": 1}.items():
        found[name] = Case(record(transcribed(labels), SEQUENCE))
    found["ctc-weighted"] = Case(record(transcribed(2, 0.3), SEQUENCE))
    # Not farther: TensorFlow's kernel takes the softmax before the logarithm, and float32 ends at exp(-87).
    found["ctc-far"] = Case(record(transcribed(2), SEQUENCE), gain=8.0)
    return found


# Definitions: each gate of each direction by itself, step by step

def gates(use: Use, prefix: str, count: int) -> Callable[..., np.ndarray]:
    """What gate `number` of a direction adds up, from an input and a state, either left out with its bias."""
    def part(name: str, number: int) -> np.ndarray:
        return np.split(use.parameters[prefix + name], count)[number]

    def total(number: int, x: np.ndarray | None = None, h: np.ndarray | None = None) -> np.ndarray:
        found = 0.0
        if x is not None:
            found = found + np.einsum("nc,gc->ng", x, part("input_weight", number))
            found = found + part(use.layer.biases()[0], number)
        if h is not None:
            found = found + np.einsum("nc,gc->ng", h, part("recurrent_weight", number))
            if len(use.layer.biases()) == 2:
                found = found + part("recurrent_bias", number)
        return found

    return total


def lstm_direction(use: Use, x: np.ndarray, prefix: str, times: Iterable[int]) -> np.ndarray:
    total = gates(use, prefix, 4)
    y = np.zeros(x.shape[:2] + (use.layer.features,))
    h = c = y[:, 0]
    for t in times:
        enter, forget, leave = (special.expit(total(number, x[:, t], h)) for number in (0, 1, 3))
        c = forget * c + enter * np.tanh(total(2, x[:, t], h))
        y[:, t] = h = leave * np.tanh(c)
    return y


def gru_direction(use: Use, x: np.ndarray, prefix: str, times: Iterable[int]) -> np.ndarray:
    total = gates(use, prefix, 3)
    y = np.zeros(x.shape[:2] + (use.layer.features,))
    h = y[:, 0]
    for t in times:
        update, reset = (special.expit(total(number, x[:, t], h)) for number in (0, 1))
        state = reset * total(2, h=h) if use.layer.reset_after else total(2, h=reset * h)
        y[:, t] = h = update * h + (1 - update) * np.tanh(total(2, x[:, t]) + state)
    return y


def both_ways(direction: Callable[..., np.ndarray]) -> Callable[[Use, np.ndarray], np.ndarray]:
    def definition(use: Use, x: np.ndarray) -> np.ndarray:
        times = range(x.shape[1])
        found = [direction(use, x, "", times)]
        if use.layer.bidirectional:
            found.append(direction(use, x, "backward_", reversed(times)))
        return np.concatenate(found, -1)
    return definition


def additive(use: Use, query: np.ndarray, key: np.ndarray, value: np.ndarray,
             mask: np.ndarray | None = None) -> np.ndarray:
    """One query of one sample at a time, over the keys it may look at."""
    weight, scale, bias = (use.parameters[name] for name in ("weight", "scale", "bias"))
    y = np.zeros(query.shape[:2] + value.shape[2:])
    for n, t in np.ndindex(*query.shape[:2]):
        keys = [s for s in range(key.shape[1]) if mask is None or mask[n, s]]
        scores = [float(np.sum(scale * weight / np.sqrt(np.sum(weight**2)) * np.tanh(query[n, t] + key[n, s] + bias)))
                  for s in keys]
        y[n, t] = np.sum(special.softmax(scores)[:, None] * value[n, keys], axis=0)
    return y


def convolved(use: Use, x: np.ndarray) -> np.ndarray:
    """One window at a time, over the taps that lie on the sequence."""
    layer, weight = use.layer, use.parameters["weight"]
    windows = []
    for i in range(layer.outputs(*use.specs)[0].size("T")):
        taps = [(k, i * layer.stride - layer.padding[0] + k) for k in range(layer.kernel)]
        on = [(k, t) for k, t in taps if 0 <= t < x.shape[1]]
        parts = zip(np.split(x, layer.groups, 2), np.split(weight, layer.groups, 0), strict=True)
        windows.append(np.concatenate([sum(np.einsum("nc,oc->no", part[:, t], kernel[:, :, k]) for k, t in on)
                                       for part, kernel in parts], 1))
    y = np.stack(windows, 1)
    return y + use.parameters["bias"] if layer.bias else y


def every_alignment(use: Use, logits: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Adds up the probability of every path that spells the labels: repetitions merged, then blanks left out."""
    scores = special.log_softmax(logits, axis=-1)
    spelled: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for path in product(range(logits.shape[2]), repeat=logits.shape[1]):
        spelled.setdefault(tuple(symbol for symbol, _ in groupby(path) if symbol), []).append(path)
    times = np.arange(logits.shape[1])
    return np.array([-np.log(sum(exp(sample[times, path].sum()) for path in spelled[tuple(symbols[symbols != 0])]))
                     for sample, symbols in zip(scores, label, strict=True)])


DEFINITIONS = {
    layers.LSTM: both_ways(lstm_direction),
    layers.GRU: both_ways(gru_direction),
    layers.AdditiveAttention: additive,
    layers.RowsToSequence: lambda use, x: np.array([[[pixel for column in range(image.shape[2])
                                                      for pixel in image[:, row, column]]
                                                     for row in range(image.shape[1])] for image in x]),
    layers.SequenceConv: convolved,
    layers.CTC: every_alignment,
}


def _compact(image: Tensor) -> Tensor:
    x = sequence_conv(rows_to_sequence(image), 6, 3, stride=2, padding=(1, 0), groups=2, bias=True)
    heard = lstm(x, 2, bidirectional=True, double_bias=True)
    said = gru(lstm(x, 3), 3, bidirectional=True)
    told = gru(x, 4, reset_after=False)
    found = additive_attention(linear(said, 4), linear(heard, 4), heard)
    logits = linear(concat(said, told, found), 4)
    loss(CTC(), logits, "transcript", Spec("L", (2,), "int32"))
    return logits


COMPACT = record(_compact, {"image": Spec("CHW", (2, 13, 4))})
EQUIVALENT: dict[str, str] = {}
