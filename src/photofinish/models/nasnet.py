"""NASNet-A: Zoph et al. 2017, "Learning Transferable Architectures for Scalable Image Recognition" (arXiv 1707.07012).

One architecture in three implementations, which agree in parameters but not in what they put around an image that is
halved:

- nasnet_a_large is timm's. Windows lie as TensorFlow's SAME lays them; zeros around the image count in averages and
  not in maxima.
- nasnet_a_mobile is keras.applications'. The windows are the same, but zeros count in maxima too, and the running
  statistics are Keras's, with the momentum of the original. (That is also how Keras's large net differs from timm's.)
- The Cadene nets (pretrained-models.pytorch) pad alike on both sides, and no zeros count. For images of even size that
  lays the windows one position off SAME. Where the default input makes the size even, Cadene puts a row and a column
  of zeros in front and drops the first row and column of what comes out: SAME again, after 26,540,976 (large) and
  4,596,042 (mobile) multiply-accumulates in vain. An input that makes the size odd there does not fit, there as here.
  The classifier has dropout.

Cadene's last pool is as large as the image that the default input leaves; here the whole image is averaged, whatever
the input. None of the three has the paper's auxiliary head or drops paths.
"""

from functools import partial
from typing import Any, Callable, NamedTuple, Tuple

from photofinish import models
from photofinish.graph import Tensor
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
    pad,
    relu,
    scope,
)

Padded = Callable[..., Tensor]  # a layer to be called with an image and padding=
Windows = Callable[[Tensor, int, int, Padded], Tensor]  # calls a layer of that kernel and stride with its padding
Adjustment = Callable[[Tensor, int, "Source"], Tensor]


class Source(NamedTuple):
    """What implementations do differently, beside `Windows`."""

    norm: Callable[[Tensor], Tensor]
    max_pool: Padded  # the pools that halve the image
    average_pool: Padded
    drop: float


def max_pool_of_zeros(x: Tensor, padding: Tuple[int, int, int, int]) -> Tensor:
    return max_pool(pad(x, padding), 3, stride=2)


TIMM = Source(partial(batch_norm, epsilon=1e-3), partial(max_pool, kernel=3, stride=2),
              partial(average_pool, kernel=3, stride=2, count_padding=True), drop=0.0)
KERAS = TIMM._replace(norm=partial(batch_norm, epsilon=1e-3, momentum=0.9997, running_variance="population"),
                      max_pool=max_pool_of_zeros)
CADENE = TIMM._replace(average_pool=partial(average_pool, kernel=3, stride=2), drop=0.5)


def same(x: Tensor, kernel: int, stride: int, layer: Padded) -> Tensor:
    """TensorFlow's SAME: ceil(size / stride) windows; half of what they lack lies in front, the odd one behind."""
    before, after = [], []
    for size in x.shape[1:]:
        needed = max(0, (-(-size // stride) - 1) * stride + kernel - size)
        before.append(needed // 2)
        after.append(needed - needed // 2)
    return layer(x, padding=tuple(before + after))


def symmetric(x: Tensor, kernel: int, stride: int, layer: Padded) -> Tensor:
    """Half a window on every side."""
    return layer(x, padding=kernel // 2)


def shifted(x: Tensor, kernel: int, stride: int, layer: Padded) -> Tensor:
    """Cadene's SAME for images of even size."""
    return pad(layer(pad(x, (1, 1, 0, 0)), padding=kernel // 2), (-1, -1, 0, 0))


@block
def separable(x: Tensor, channels: int, kernel: int, source: Source, stride: int = 1,
              windows: Windows = symmetric) -> Tensor:
    """Twice ReLU, a convolution per channel, a 1x1 convolution and normalisation; the first time with the stride."""
    def convolution(x: Tensor, padding: Any, stride: int = 1) -> Tensor:
        return conv(conv(x, x.channels, kernel, stride, padding, groups=x.channels), channels, 1)

    x = source.norm(windows(relu(x), kernel, stride, partial(convolution, stride=stride)))
    return source.norm(convolution(relu(x), kernel // 2))


@block
def projection(x: Tensor, channels: int, source: Source, stride: int = 1) -> Tensor:
    return source.norm(conv(relu(x), channels, 1, stride))


@block
def factorized_reduction(x: Tensor, channels: int, source: Source) -> Tensor:
    """Every second position, and every second of those between, side by side."""
    x = relu(x)
    even, odd = (conv(average_pool(part, 1, stride=2), channels // 2, 1) for part in (x, pad(x, (-1, -1, 1, 1))))
    return source.norm(concat(even, odd))


def untouched(x: Tensor, channels: int, source: Source) -> Tensor:
    return x


@block
def normal_cell(x: Tensor, previous: Tensor, channels: int, adjust: Adjustment, source: Source) -> Tensor:
    """Figure 4, left. `previous` is what the cell before took; `adjust` gives it the size and channels of this one."""
    p = adjust(previous, channels, source)
    h = projection(x, channels, source)
    mean = partial(average_pool, kernel=3, stride=1, padding=1)
    return concat(
        p,
        separable(h, channels, 5, source) + separable(p, channels, 3, source),
        separable(p, channels, 5, source) + separable(p, channels, 3, source),
        mean(h) + p,
        mean(p) + mean(p),
        separable(h, channels, 3, source) + h)


@block
def reduction_cell(x: Tensor, previous: Tensor, channels: int, adjust: Adjustment, source: Source,
                   windows: Windows) -> Tensor:
    """Figure 4, right: halves the image."""
    p = adjust(previous, channels, source)
    h = projection(x, channels, source)
    halved = partial(separable, channels=channels, source=source, stride=2, windows=windows)
    first = halved(h, kernel=5) + halved(p, kernel=7)
    second = windows(h, 3, 2, source.max_pool) + halved(p, kernel=7)
    third = windows(h, 3, 2, source.average_pool) + halved(p, kernel=5)
    fourth = average_pool(first, 3, stride=1, padding=1) + second
    fifth = separable(first, channels, 3, source, windows=windows) + windows(h, 3, 2, source.max_pool)
    return concat(second, third, fourth, fifth)


def within(blocks: models.Names, layers: models.Names) -> models.Names:
    """Each of the layers in each of the blocks."""
    return tuple((block + "." + layer, theirs + "." + name) for block, theirs in blocks for layer, name in layers)


def separables(*branches: str) -> models.Names:
    """Which branches of timm's cell are the separable convolutions of ours, in their order."""
    return within(tuple(("separable{}".format(number), "comb_iter_" + branch)
                        for number, branch in enumerate(branches, start=1)),
                  (("(conv1|conv3)", "separable_(1|2).depthwise_conv2d"),
                   ("(conv2|conv4)", "separable_(1|2).pointwise_conv2d"),
                   ("batch_norm{n}", "bn_sep_{n}")))


def projections(*names: str) -> models.Names:
    """What timm calls the projections of a cell, in their order."""
    return tuple(("projection{}.(conv|batch_norm)1".format(number), name + ".(conv|bn)")
                 for number, name in enumerate(names, start=1))


NORMAL = separables("0_left", "0_right", "1_left", "1_right", "4_left")
REDUCTION = separables("0_left", "0_right", "1_right", "2_right", "4_left")
PROJECTED = projections("conv_prev_1x1", "conv_1x1")
FACTORIZED: models.Names = (  # where the image has been halved since `previous`
    ("factorized_reduction1.conv{n}", "path_{n}.conv"),
    ("factorized_reduction1.batch_norm1", "final_path_bn")) + projections("conv_1x1")
NAMES: models.Names = (
    ("stem.(conv|batch_norm)1", "conv0.(conv|bn)"),
    ("linear1", "last_linear")) + within((
        ("stem.reduction_cell{c}", "cell_stem_{c-1}"),), FACTORIZED + REDUCTION) + within((
        ("stage{s}.reduction_cell1", "reduction_cell_{s-2}"),), PROJECTED + REDUCTION) + within((
        ("stage1.normal_cell1", "cell_0"),
        ("stage2.normal_cell1", "cell_6"),
        ("stage3.normal_cell1", "cell_12")), FACTORIZED + NORMAL) + within((
        ("stage1.normal_cell{c}", "cell_{c-1}"),
        ("stage2.normal_cell{c}", "cell_{c+5}"),
        ("stage3.normal_cell{c}", "cell_{c+11}")), PROJECTED + NORMAL)

KERAS_CELLS = (  # by what name, and whether the image has been halved since `previous`
    ("stem.reduction_cell{c}", "stem_{c}", True),
    ("stage2.reduction_cell1", "reduce_4", False),
    ("stage3.reduction_cell1", "reduce_8", False),
    ("stage1.normal_cell1", "0", True),
    ("stage2.normal_cell1", "5", True),
    ("stage3.normal_cell1", "9", True),
    ("stage1.normal_cell{c}", "{c-1}", False),
    ("stage2.normal_cell{c}", "{c+4}", False),
    ("stage3.normal_cell{c}", "{c+8}", False),
)


def keras(cell: str, name: str, halved: bool) -> models.Names:
    """What Keras calls the layers of a cell: a separable convolution is one, of two kernels."""
    kind, branches = (("reduction", ("left1", "right1", "right2", "right3", "left4")) if "reduction" in cell else
                      ("normal", ("left1", "right1", "left2", "right2", "left5")))
    own, adjusted, convolved = (("projection1", "factorized_reduction1", "adjust_conv_{n}_") if halved else
                                ("projection2", "projection1", "adjust_conv_projection_"))
    names: models.Names = (
        (own + ".(conv|batch_norm)1", kind + "_(conv|bn)_1_" + name),
        (adjusted + ".batch_norm1", "adjust_bn_" + name),
        (adjusted + ".conv{n}", convolved + name))
    for number, branch in enumerate(branches, start=1):
        ours, theirs = "separable{}.".format(number), "{}_{}_{}".format(kind, branch, name)
        names += ((ours + "(conv1|conv3)", "separable_conv_(1|2)_" + theirs + ":depthwise"),
                  (ours + "(conv2|conv4)", "separable_conv_(1|2)_" + theirs + ":pointwise"),
                  (ours + "batch_norm{n}", "separable_conv_{n}_bn_" + theirs))
    return tuple((cell + "." + layer, theirs) for layer, theirs in names)


KERAS_NAMES: models.Names = (
    ("stem.(conv|batch_norm)1", "stem_(conv|bn)1"),
    ("linear1", "predictions")) + tuple(pair for cell in KERAS_CELLS for pair in keras(*cell))

SMALL: Any = {"stem": 3, "filters": 2, "stages": 1, "cells": 1, "growth": 1}
LARGE: Any = {
    "inputs": models.image(3, 331, 331),
    "source": "arXiv 1707.07012",
    "optimizer": SGD(learning_rate=7.5e-3),  # TF-slim's 0.015 for 16 images, scaled to a batch of 8
    # with the reduction between stages, and an image of odd and even size where it is at 331
    "reduced": dict(SMALL, stages=2, shape=(3, 27, 27)),
    "preparation": models.timm_inception(0.911),
}
MOBILE: Any = {
    "source": "arXiv 1707.07012",
    "optimizer": SGD(learning_rate=1e-2),  # TF-slim's 0.04 for 32 images, scaled to a batch of 8
    "reduced": dict(SMALL, shape=(3, 31, 31)),  # the image is of odd and even size where it is at 224
    "preparation": models.MINUS_ONE_TO_ONE,
}
SMALLER: Any = {"stem": 32, "filters": 44, "cells": 4, "skip": False}


@models.model("nasnet_a_mobile_cadene", **MOBILE, arguments=dict(
    SMALLER, source=CADENE, windows=(symmetric, shifted, shifted, shifted)))
@models.model("nasnet_a_mobile", arguments=dict(SMALLER, source=KERAS), names={"keras.applications": KERAS_NAMES},
              **MOBILE)
@models.model("nasnet_a_large_cadene", **dict(LARGE, preparation=models.MINUS_ONE_TO_ONE), arguments={
    "source": CADENE, "windows": (symmetric, symmetric, shifted, symmetric)})
@models.model("nasnet_a_large", names={"timm": NAMES}, **LARGE)
def nasnet_a(image: Tensor, classes: int, source: Source = TIMM, windows: Tuple[Windows, ...] = (same,) * 4,
             stem: int = 96, filters: int = 168, stages: int = 3, cells: int = 6, growth: int = 2,
             skip: bool = True) -> Tensor:
    """Two reduction cells, then `stages` of `cells` normal cells, with a reduction cell between them.

    `filters` are the channels within a cell of the first stage; they grow by `growth` from stage to stage, in the stem
    too. `skip`: the first cell behind a reduction looks past the reduction's input, to the one before.
    """
    with scope("stem"):
        x = source.norm(conv(image, stem, 3, stride=2, padding=0))
        previous, x = x, reduction_cell(x, x, filters // growth ** 2, untouched, source, windows[0])
        previous, x = x, reduction_cell(x, previous, filters // growth, factorized_reduction, source, windows[1])
    for stage in range(stages):
        with scope("stage{}".format(stage + 1)):
            channels = filters * growth ** stage
            if stage:
                reduced = reduction_cell(x, previous, channels, projection, source, windows[stage + 1])
                previous, x = previous if skip else x, reduced
            for position in range(cells):
                adjust = projection if position else factorized_reduction
                previous, x = x, normal_cell(x, previous, channels, adjust, source)
    x = global_average_pool(relu(x))
    return linear(dropout(x, source.drop) if source.drop else x, classes)
