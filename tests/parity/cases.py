"""Example graphs, small enough to prove in milliseconds: every layer kind, with every field away from its
default at least once, odd sizes, negative inputs, and something trainable before and after it."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from families import FAMILIES
from families.common import LABEL, Case, between, head
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import KINDS, Layer, SoftmaxCrossEntropy, Spec
from photofinish.vocabulary import (
    adaptive_average_pool,
    average_pool,
    batch_norm,
    block,
    clip,
    concat,
    conv,
    dropout,
    embedding,
    flatten,
    global_average_pool,
    linear,
    masked_mean,
    max_pool,
    relu,
    relu6,
    scan,
    sigmoid,
    stochastic_depth,
    swish,
    tanh,
    training_only,
)

IMAGE = {"image": Spec("CHW", (4, 7, 5))}
VECTOR = {"vector": Spec("C", (6,))}
SEQUENCE = {"sequence": Spec("TC", (7, 6))}
WORDS = {"words": Spec("T", (7,), "int32"), "mask": Spec("T", (7,), "bool")}
CARRIED = {"carry": Spec("C", (4,)), "sequence": Spec("TC", (5, 3))}


# What is done to an image of 4x7x5 that came out of a 1x1 convolution.
ON_IMAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "conv": lambda x: conv(x, 3, 3),
    "conv-bias": lambda x: conv(x, 3, 3, bias=True),
    "conv-1x1": lambda x: conv(x, 6, 1),
    "conv-1x1-strided": lambda x: conv(x, 6, 1, stride=2),
    "conv-strided": lambda x: conv(x, 3, 3, stride=2),
    "conv-strides-differ": lambda x: conv(x, 3, 3, stride=(1, 2)),
    "conv-even-kernel": lambda x: conv(x, 3, (2, 4), stride=2, padding=0),
    "conv-flat-kernel": lambda x: conv(x, 3, (1, 3), padding=(0, 1)),
    "conv-stem": lambda x: conv(x, 3, 7, stride=2),
    "conv-same-padding": lambda x: conv(x, 3, 3, stride=2, padding=(0, 0, 1, 1)),
    "conv-four-paddings": lambda x: conv(x, 3, 3, padding=(0, 1, 2, 3)),
    "conv-dilated": lambda x: conv(x, 3, 3, dilation=2),
    "conv-dilations-differ": lambda x: conv(x, 3, 3, dilation=(1, 2), padding=(1, 0)),
    "conv-groups": lambda x: conv(x, 6, 3, groups=2, bias=True),
    "conv-groups-strided": lambda x: conv(x, 6, 3, stride=(2, 1), groups=2),
    "conv-depthwise": lambda x: conv(x, 4, 3, groups=4),
    "conv-depthwise-strided": lambda x: conv(x, 4, 5, stride=2, groups=4, bias=True),
    "conv-depthwise-strides-differ": lambda x: conv(x, 4, 3, stride=(2, 1), groups=4),
    "conv-depthwise-dilated": lambda x: conv(x, 4, 3, dilation=2, groups=4),
    "conv-depthwise-same-padding": lambda x: conv(x, 4, 3, stride=2, padding=(0, 0, 1, 1), groups=4),
    "conv-depthwise-multiplied": lambda x: conv(x, 8, 3, groups=4),
    "batch-norm": batch_norm,
    "batch-norm-epsilon": lambda x: batch_norm(x, epsilon=0.1),
    "batch-norm-momentum": lambda x: batch_norm(x, momentum=0.6),
    "batch-norm-population": lambda x: batch_norm(x, running_variance="population"),
    "batch-norm-no-scale": lambda x: batch_norm(x, scale=False),
    "batch-norm-no-center": lambda x: batch_norm(x, center=False),
    "batch-norm-plain": lambda x: batch_norm(x, scale=False, center=False),
    "relu": relu,
    "clip": lambda x: clip(x, -0.5, 0.25),
    "sigmoid": sigmoid,
    "tanh": tanh,
    "swish": swish,
    "dropout": lambda x: dropout(x, 0.4),
    "stochastic-depth": lambda x: stochastic_depth(x, 0.4),
    "max-pool": lambda x: max_pool(x, 2),
    "max-pool-padded": lambda x: max_pool(x, 3, 2, padding=1),
    "max-pool-overlapping": lambda x: max_pool(x, (3, 2), 1),
    "max-pool-of-equals": lambda x: max_pool(concat(x, x, axis="W"), (2, 10), 1),
    "max-pool-ceil": lambda x: max_pool(x, 2, 2, ceil=True),
    "max-pool-ceil-padded": lambda x: max_pool(x, 3, 2, padding=(1, 0), ceil=True),
    "max-pool-four-paddings": lambda x: max_pool(x, 3, (2, 1), padding=(0, 1, 1, 0)),
    "average-pool": lambda x: average_pool(x, 2),
    "average-pool-padded": lambda x: average_pool(x, 3, 2, padding=1),
    "average-pool-counts-padding": lambda x: average_pool(x, 3, 2, padding=1, count_padding=True),
    "average-pool-ceil": lambda x: average_pool(x, 2, 2, ceil=True),
    "average-pool-ceil-padded": lambda x: average_pool(x, 3, 2, padding=(1, 0), ceil=True),
    "average-pool-ceil-counts-padding": lambda x: average_pool(x, (2, 3), 2, padding=1, ceil=True, count_padding=True),
    "average-pool-four-paddings": lambda x: average_pool(x, 3, (2, 1), padding=(0, 1, 1, 0)),
    "average-pool-four-paddings-counted": lambda x: average_pool(x, 3, 2, padding=(0, 1, 1, 0), count_padding=True),
    "adaptive-average-pool": lambda x: adaptive_average_pool(x, (3, 2)),
    "adaptive-average-pool-one": lambda x: adaptive_average_pool(x, 1),
    "adaptive-average-pool-larger": lambda x: adaptive_average_pool(x, (9, 7)),
    "global-average-pool": global_average_pool,
    "global-average-pool-kept": lambda x: global_average_pool(x, keep_axes=True),
    "flatten": flatten,
    "flatten-then-batch-norm": lambda x: batch_norm(flatten(x)),
    "add": lambda x: x + conv(x, 4, 3),
    "add-itself": lambda x: x + x,
    "multiply": lambda x: x * conv(x, 4, 3),
    "multiply-itself": lambda x: x * x,
    "multiply-gate": lambda x: x * sigmoid(conv(global_average_pool(x, keep_axes=True), 4, 1, bias=True)),
    "multiply-gate-first": lambda x: sigmoid(conv(global_average_pool(x, keep_axes=True), 4, 1)) * x,
    "multiply-outer": lambda x: global_average_pool(x, keep_axes=True) * conv(x, 1, 3),
    "concat": lambda x: concat(x, conv(x, 2, 3), relu(x)),
    "concat-itself": lambda x: concat(x, x),
    "concat-height": lambda x: concat(x, conv(x, 4, 1), axis="H"),
    "concat-width": lambda x: concat(conv(x, 4, 1), x, axis="W"),
}

# What is done to a vector of 6, or to 7 steps of 6, that came out of a Linear.
ON_VECTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda x: linear(x, 4),
    "linear-no-bias": lambda x: linear(x, 4, bias=False),
    "batch-norm-vector": batch_norm,
    "dropout-vector": lambda x: dropout(x, 0.3),
    "stochastic-depth-vector": lambda x: stochastic_depth(x, 0.3),
}
ON_SEQUENCES: dict[str, Callable[[Tensor], Tensor]] = {
    "linear-sequence": lambda x: linear(x, 4),
    "batch-norm-sequence": batch_norm,
    "concat-time": lambda x: concat(x, tanh(x), axis="T"),
}


def tied(x: Tensor) -> Tensor:
    """The same weight twice: its gradient is the sum of both uses."""
    return linear(tanh(linear(x, 6, bias=False, name="first")), 6, weight="first.weight", name="second")


def auxiliary(x: Tensor) -> tuple[Tensor, ...]:
    """A branch and a weighted loss that exist in training only."""
    x = relu(conv(x, 4, 3, bias=True))
    with training_only():
        head(batch_norm(average_pool(x, 3, 2)), weight=0.4, name="auxiliary")
    return (head(x),)


def words(ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    x = embedding(ids, 11, 6, name="table")
    mean = masked_mean(x, mask)
    return x, mean, head(mean)


def tied_words(ids: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    """The table of the embedding is the weight of the last layer too."""
    mean = masked_mean(tanh(embedding(ids, 11, 6, name="table")), mask)
    logits = linear(mean, 11, weight="table.weight", name="prediction")
    loss(SoftmaxCrossEntropy(), logits, "label", LABEL)
    return (logits,)


STEP = {"carry": Spec("C", (4,)), "x": Spec("C", (3,))}
PLAIN = record(lambda carry, x: (tanh(linear(carry, 4) + linear(x, 4)),) * 2, STEP)


def _gated(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    both = concat(carry, x)
    gate, proposal = sigmoid(linear(both, 4, name="gate")), tanh(linear(both, 4, name="proposal"))
    carry = carry + gate * proposal
    return carry, relu(linear(carry, 2, name="out"))


GATED = record(_gated, STEP)


def scanned(body: Graph, *kept: int) -> Callable[..., tuple[Tensor, ...]]:
    """Scans the body; the loss sees only the outputs `kept`."""
    def model(carry: Tensor, sequence: Tensor) -> tuple[Tensor, ...]:
        results = scan(body, linear(carry, 4, name="start"), linear(sequence, 3, name="feed"), name="scan")
        features = [each if each.spec.axes == "C" else flatten(each) for each in (results[i] for i in kept)]
        return (*results, head(concat(*features) if len(features) > 1 else features[0]))
    return model


@block
def mixed(x: Tensor) -> Tensor:
    """Most image layers in one network: what modes that take long to compile are tried on."""
    y = swish(batch_norm(conv(x, 6, 3, stride=2, padding=(0, 0, 1, 1))))
    y = relu6(batch_norm(conv(y, 6, 3, groups=6), running_variance="population", epsilon=1e-3))
    y = y * sigmoid(conv(relu(conv(global_average_pool(y, keep_axes=True), 2, 1, bias=True)), 6, 1, bias=True))
    y = concat(max_pool(y, 3, 1, padding=1), average_pool(y, 3, 1, padding=1), tanh(conv(y, 2, (1, 3), padding=(0, 1))))
    y = y + stochastic_depth(batch_norm(conv(y, 14, 3, groups=2)), 0.2)
    y = adaptive_average_pool(clip(y, -2.0, 2.0), (3, 2))
    return dropout(flatten(y), 0.3)


def everything(image: Tensor, words: Tensor, mask: Tensor, carry: Tensor, sequence: Tensor) -> tuple[Tensor, ...]:
    """Every layer kind at once, with an auxiliary head."""
    seen = mixed(conv(image, 4, 1, bias=True))
    with training_only():
        head(seen, SoftmaxCrossEntropy(0.1), 0.3, name="auxiliary")
    read = masked_mean(embedding(words, 11, 6), mask)
    last, _ = scan(GATED, carry, sequence)
    return seen, head(concat(linear(seen, 4), read, last))


def _with_loss(objective: Layer) -> Callable[..., Any]:
    return lambda x: (head(tanh(linear(x, 6)), objective), )


@lru_cache(maxsize=1)
def cases() -> dict[str, Case]:
    """Every example by name."""
    found = {name: Case(record(between(function, lambda x: conv(x, 4, 1, name="entry")), IMAGE))
             for name, function in ON_IMAGES.items()}
    for table, inputs in ((ON_VECTORS, VECTOR), (ON_SEQUENCES, SEQUENCE)):
        found.update({name: Case(record(between(function, lambda x: linear(x, 6, name="entry")), inputs))
                      for name, function in table.items()})
    # Far from zero: where relu6 bends, where sigmoid, tanh and swish saturate, where exp would overflow.
    for name, function in {"relu6": relu6, "sigmoid-far": sigmoid, "tanh-far": tanh, "swish-far": swish}.items():
        found[name] = Case(record(between(function, lambda x: conv(x, 4, 1, name="entry")), IMAGE), gain=6.0)
    found["cross-entropy"] = Case(record(_with_loss(SoftmaxCrossEntropy()), VECTOR))
    found["cross-entropy-smoothed"] = Case(record(_with_loss(SoftmaxCrossEntropy(0.2)), VECTOR))
    found["cross-entropy-far"] = Case(record(lambda x: (head(x), ), VECTOR), gain=100.0)
    found["tied"] = Case(record(between(tied, lambda x: x), VECTOR))
    found["auxiliary"] = Case(record(auxiliary, IMAGE))
    found["embedding"] = Case(record(words, WORDS))
    found["embedding-tied"] = Case(record(tied_words, WORDS))
    found["scan"] = Case(record(scanned(PLAIN, 0, 1), CARRIED))
    found["scan-gated"] = Case(record(scanned(GATED, 0, 1), CARRIED))
    found["scan-last-only"] = Case(record(scanned(GATED, 0), CARRIED))
    found["scan-sequence-only"] = Case(record(scanned(GATED, 1), CARRIED))
    found["everything"] = Case(record(everything, {**IMAGE, **WORDS, **CARRIED}))
    for family in FAMILIES:
        found.update(family.cases())
        found[compact(family.__name__)] = Case(family.COMPACT)
    return found


def compact(family: str) -> str:
    """The name of the example that has each layer of a family once."""
    return "compact-" + family.rpartition(".")[2]


def missing_kinds() -> set[str]:
    """The layer kinds no example exercises."""
    return set(KINDS).difference(*(case.kinds for case in cases().values()))
