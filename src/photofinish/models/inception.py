"""Inception v3: Szegedy et al. 2015, "Rethinking the Inception Architecture" (arXiv 1512.00567).

inception_v3 is torchvision's, whose auxiliary head joins in training only; inception_v3_no_aux is torchvision's
without it, and timm's but for its dropout. inception_v3_keras is keras.applications': no head, no dropout, no scale in
the normalisations (and Keras's constants), and average pools that leave their padding out of the mean, where
torchvision's count it. The letters of the blocks are torchvision's.
"""

from functools import partial
from typing import Any, Callable, Dict, Optional, Tuple

from photofinish import models
from photofinish.arguments import Pair
from photofinish.graph import Tensor, loss
from photofinish.layers import Spec
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    average_pool,
    batch_norm,
    block,
    concat,
    conv,
    dropout,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scope,
    training_only,
)

Convolution = Callable[..., Tensor]
Stem = Tuple[Optional[Tuple[int, int, int, int]], ...]  # convolutions (channels, kernel, stride, padding) or max-pools
STEM: Stem = ((32, 3, 2, 0), (32, 3, 1, 0), (64, 3, 1, 1), None, (80, 1, 1, 0), (192, 3, 1, 0), None)
HALVING: Any = {"stride": 2, "padding": 0}  # how every Inception halves the image
AUXILIARY_WEIGHT = 0.4  # of the auxiliary loss: PyTorch's tutorial on fine-tuning, TF-slim


def scaled(channels: int, width: float) -> int:
    """At least 4: behind a single normalised channel a 1x1 convolution has no gradient but rounding."""
    return max(4, round(width * channels))


def conv_norm(x: Tensor, channels: int, kernel: Pair, width: float = 1.0, **windows: Any) -> Tensor:
    return relu(batch_norm(conv(x, scaled(channels, width), kernel, **windows), epsilon=1e-3))


def conv_norm_keras(x: Tensor, channels: int, kernel: Pair, width: float = 1.0, **windows: Any) -> Tensor:
    y = conv(x, scaled(channels, width), kernel, **windows)
    return relu(batch_norm(y, epsilon=1e-3, momentum=0.99, running_variance="population", scale=False))


def branch(name: str, x: Tensor, convolution: Convolution, *steps: Tuple[int, Pair], **last: Any) -> Tensor:
    """Convolutions of (channels, kernel) in a row, in a scope; `last` is said to the last one only."""
    with scope(name):
        for step in steps[:-1]:
            x = convolution(x, *step)
        return convolution(x, *steps[-1], **last)


def forked(name: str, x: Tensor, convolution: Convolution, *steps: Tuple[int, Pair]) -> Tensor:
    """As `branch`, but the last channels come twice side by side: from a 1x3 and a 3x1 convolution."""
    with scope(name):
        for step in steps[:-1]:
            x = convolution(x, *step)
        channels, _ = steps[-1]
        return concat(convolution(x, channels, (1, 3)), convolution(x, channels, (3, 1)))


def pooled(x: Tensor, channels: int, convolution: Convolution, count_padding: bool = False) -> Tensor:
    with scope("pool"):
        return convolution(average_pool(x, 3, stride=1, padding=1, count_padding=count_padding), channels, 1)


def stem(x: Tensor, layers: Stem, convolution: Convolution) -> Tensor:
    """STEM makes 192x35x35 of 3x299x299."""
    with scope("stem"):
        for layer in layers:
            if layer is None:
                x = max_pool(x, 3, stride=2)
            else:
                channels, kernel, stride, padding = layer
                x = convolution(x, channels, kernel, stride=stride, padding=padding)
    return x


@block
def inception_a(x: Tensor, pool: int, convolution: Convolution, count_padding: bool) -> Tensor:
    return concat(
        branch("single", x, convolution, (64, 1)),
        branch("five", x, convolution, (48, 1), (64, 5)),
        branch("double", x, convolution, (64, 1), (96, 3), (96, 3)),
        pooled(x, pool, convolution, count_padding))


@block
def inception_b(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("three", x, convolution, (384, 3), **HALVING),
        branch("double", x, convolution, (64, 1), (96, 3), (96, 3), **HALVING),
        max_pool(x, 3, stride=2))


@block
def inception_c(x: Tensor, narrow: int, convolution: Convolution, count_padding: bool) -> Tensor:
    """7x7 windows as 1x7 and 7x1 ones of `narrow` channels."""
    return concat(
        branch("single", x, convolution, (192, 1)),
        branch("seven", x, convolution, (narrow, 1), (narrow, (1, 7)), (192, (7, 1))),
        branch("double", x, convolution, (narrow, 1), (narrow, (7, 1)), (narrow, (1, 7)), (narrow, (7, 1)),
               (192, (1, 7))),
        pooled(x, 192, convolution, count_padding))


@block
def inception_d(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("three", x, convolution, (192, 1), (320, 3), **HALVING),
        branch("seven", x, convolution, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3), **HALVING),
        max_pool(x, 3, stride=2))


@block
def inception_e(x: Tensor, convolution: Convolution, count_padding: bool) -> Tensor:
    return concat(
        branch("single", x, convolution, (320, 1)),
        forked("three", x, convolution, (384, 1), (384, 3)),
        forked("double", x, convolution, (448, 1), (384, 3), (384, 3)),
        pooled(x, 192, convolution, count_padding))


def auxiliary_head(x: Tensor, classes: int, convolution: Convolution) -> None:
    """A second opinion half-way up, which only adds its loss; 5x5 windows need the 17x17 that 299x299 leaves here."""
    with training_only(), scope("auxiliary"):
        x = convolution(average_pool(x, 5, stride=3), 128, 1)
        x = global_average_pool(convolution(x, 768, 5, padding=0))
        loss(models.CROSS_ENTROPY, linear(x, classes), "label", Spec("", (), "int32"), AUXILIARY_WEIGHT)


STEMS = ("1a_3x3", "2a_3x3", "2b_3x3", "3b_1x1", "4a_3x3")
MIXED = {"a": ("5b", "5c", "5d"), "b": ("6a",), "c": ("6b", "6c", "6d", "6e"), "d": ("7a",), "e": ("7b", "7c")}
BRANCHES = {  # block -> branch, number in it, and what torchvision calls that
    "a": (("single", "1", "1x1"), ("five", "{n}", "5x5_{n}"), ("double", "{n}", "3x3dbl_{n}"), ("pool", "1", "_pool")),
    "b": (("three", "1", "3x3"), ("double", "{n}", "3x3dbl_{n}")),
    "c": (("single", "1", "1x1"), ("seven", "{n}", "7x7_{n}"), ("double", "{n}", "7x7dbl_{n}"), ("pool", "1", "_pool")),
    "d": (("three", "{n}", "3x3_{n}"), ("seven", "{n}", "7x7x3_{n}")),
    "e": (("single", "1", "1x1"), ("three", "1", "3x3_1"), ("three", "2", "3x3_2a"), ("three", "3", "3x3_2b"),
          ("double", "3", "3x3dbl_3a"), ("double", "4", "3x3dbl_3b"), ("double", "{n}", "3x3dbl_{n}"),
          ("pool", "1", "_pool")),
}
TORCHVISION: models.Names = tuple(
    ("stem.(conv|batch_norm)" + str(number), "Conv2d_" + name + ".(conv|bn)")
    for number, name in enumerate(STEMS, start=1)) + tuple(
    ("inception_" + kind + str(number) + "." + branched + ".(conv|batch_norm)" + place,
     "Mixed_" + name + ".branch" + theirs + ".(conv|bn)")
    for kind, names in MIXED.items() for number, name in enumerate(names, start=1)
    for branched, place, theirs in BRANCHES[kind]) + (
    ("auxiliary.(conv|batch_norm){n}", "AuxLogits.conv{n-1}.(conv|bn)"),
    ("auxiliary.linear1", "AuxLogits.fc"),
    ("linear1", "fc"))
NO_AUX: models.Names = TORCHVISION + (("", "AuxLogits.*"),)


def conv_norms(*places: Tuple[str, str, str]) -> models.Names:
    """What timm calls the convolutions of a branch, and the normalisations behind them, by their number in it."""
    return tuple((branch + ".(conv|batch_norm)" + number, theirs + ".(conv|bn)") for branch, number, theirs in places)


def keras(*blocks: Tuple[str, Dict[str, int]]) -> models.Names:
    """What Keras calls layers that have no name there, numbered in the order in which they are made, which is ours:
    blocks with the convolutions of each of their branches."""
    places = ["{}.{}.(conv|batch_norm){}".format(block, branch, number + 1) if branch else
              "{}.(conv|batch_norm){}".format(block, number + 1)
              for block, branches in blocks for branch, count in branches.items() for number in range(count)]
    return tuple((place, "(conv2d{0}|batch_normalization{0})".format("_{}".format(number) if number else ""))
                 for number, place in enumerate(places)) + (("linear1", "predictions"),)


A, B = {"single": 1, "five": 2, "double": 3, "pool": 1}, {"three": 1, "double": 3}
C, D = {"single": 1, "seven": 3, "double": 5, "pool": 1}, {"three": 2, "seven": 4}
E = {"single": 1, "three": 3, "double": 4, "pool": 1}
KERAS = keras(("stem", {"": 5}), *(("inception_" + kind + str(number), branches)
                                  for kind, branches in (("a", A), ("b", B), ("c", C), ("d", D), ("e", E))
                                  for number in range(1, len(MIXED[kind]) + 1)))
FACTS: Any = {
    "inputs": models.image(3, 299, 299),
    "source": "arXiv 1512.00567",
    "optimizer": SGD(learning_rate=1.1e-2),  # the paper's 0.045 of RMSProp for 32 images, scaled to a batch of 8
    # torchvision's trained network undoes its own mean and comes to this
    "preparation": models.Preparation(299 / 342, (0.5,) * 3, (0.5,) * 3),
}
SMALL: Any = {  # without C, whose layers D has too
    "layers": ((32, 3, 1, 0),), "pools": (32,), "narrow": (), "last": 1, "width": 0.02}


@models.model("inception_v3_keras", reduced=dict(SMALL, shape=(3, 13, 13)), names={"keras.applications": KERAS},
              arguments={"convolution": conv_norm_keras, "count_padding": False, "drop": 0.0}, **FACTS)
@models.model("inception_v3_no_aux", reduced=dict(SMALL, shape=(3, 13, 13)),
              names={"torchvision": NO_AUX, "timm": NO_AUX}, **FACTS)
@models.model("inception_v3", arguments={"auxiliary": True}, reduced=dict(SMALL, shape=(3, 37, 37)),
              names={"torchvision": TORCHVISION}, **FACTS)
def inception_v3(image: Tensor, classes: int, auxiliary: bool = False, convolution: Convolution = conv_norm,
                 count_padding: bool = True, drop: float = 0.5, layers: Stem = STEM,
                 pools: Tuple[int, ...] = (32, 64, 64), narrow: Tuple[int, ...] = (128, 160, 160, 192),
                 last: int = 2, width: float = 1.0) -> Tensor:
    """The `layers` of the stem, one block A per entry of `pools`, one C per entry of `narrow`, and `last` blocks E."""
    convolution = partial(convolution, width=width)
    x = stem(image, layers, convolution)
    for channels in pools:
        x = inception_a(x, channels, convolution, count_padding)
    x = inception_b(x, convolution)
    for channels in narrow:
        x = inception_c(x, channels, convolution, count_padding)
    if auxiliary:
        auxiliary_head(x, classes, convolution)
    x = inception_d(x, convolution)
    for _ in range(last):
        x = inception_e(x, convolution, count_padding)
    x = global_average_pool(x)
    return linear(dropout(x, drop) if drop else x, classes)
