"""Dual Path Networks: Chen et al. 2017 (arXiv 1707.01629). Each block adds one part of its channels to what comes in,
as a residual network, and concatenates the rest, as a DenseNet.

dpn68, dpn92 and dpn107 are timm's; those called cadene are Cadene's, the same network but for its end. timm averages
the image and classifies (behind a ReLU, as timm 1.0.31 builds it: the ELU that its source asks for has no effect).
Cadene, when it evaluates, averages windows of 7x7, classifies each (a 1x1 convolution) and takes the mean of the
average and the largest: at 224 there is one window and the same work, at 299 there are 4x4 of them and 15 times the
classifier more. Its training takes the mean of the image; here training does as evaluation, which is the same at 224.
"""

from dataclasses import replace
from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    average_pool,
    batch_norm,
    block,
    concat,
    conv,
    flatten,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scale,
    scope,
    slice_axis,
)

EPSILON = 1e-3
WINDOW = 7  # what the last stage makes of 224 pixels


def norm_conv(x: Tensor, channels: int, kernel: int, stride: int = 1, groups: int = 1) -> Tensor:
    return conv(relu(batch_norm(x, EPSILON)), channels, kernel, stride, groups=groups)


@block
def dual_path(added: Tensor, dense: Tensor, width: int, wide: int, growth: int, groups: int) -> Tuple[Tensor, Tensor]:
    """Adds to `added` and grows `dense` by `growth` channels; `wide` is the width of the path that is added to."""
    return paths(concat(added, dense), added, dense, width, wide, growth, groups, 1)


@block
def first_dual_path(x: Tensor, width: int, wide: int, growth: int, groups: int,
                    stride: int) -> Tuple[Tensor, Tensor]:
    """Of a stage: a projection makes the two paths."""
    with scope("projection"):
        projected = norm_conv(x, wide + 2 * growth, 1, stride)
    added, dense = slice_axis(projected, 0, wide), slice_axis(projected, wide, wide + 2 * growth)
    return paths(x, added, dense, width, wide, growth, groups, stride)


def paths(x: Tensor, added: Tensor, dense: Tensor, width: int, wide: int, growth: int, groups: int,
          stride: int) -> Tuple[Tensor, Tensor]:
    y = norm_conv(x, width, 1)
    y = norm_conv(y, width, 3, stride, groups)
    y = norm_conv(y, wide + growth, 1)
    return added + slice_axis(y, 0, wide), concat(dense, slice_axis(y, wide, wide + growth))


def classified_by_window(x: Tensor, classes: int, window: int) -> Tensor:
    """Cadene's end, of windows of that side; raises ModelError for images that leave no window."""
    x = conv(average_pool(x, window, stride=1), classes, 1, bias=True)
    _, down, across = x.shape
    if down * across > 1:
        x = scale(global_average_pool(x, keep_axes=True) + max_pool(x, (down, across)), 0.5)
    return flatten(x)


TIMM: models.Names = (
    ("(conv|batch_norm)1", "features.conv1_1.(conv|bn)"),
    ("stage1.*1.projection.(conv|batch_norm)1", "features.conv2_1.c1x1_w_s1.(conv|bn)"),
    ("stage{s}.*1.projection.(conv|batch_norm)1", "features.conv{s+1}_1.c1x1_w_s2.(conv|bn)")) + tuple(
    ("stage{s}." + block + ".(conv|batch_norm)" + str(place), theirs + "." + step + ".(conv|bn)")
    for block, theirs in (("first_dual_path1", "features.conv{s+1}_1"), ("dual_path{b}", "features.conv{s+1}_{b+1}"))
    for place, step in enumerate(("c1x1_a", "c3x3_b", "c1x1_c"), start=1)) + (
    ("batch_norm2", "features.conv5_bn_ac.bn"),
    ("linear1", "classifier"))

FACTS: Any = {
    "source": "arXiv 1707.01629",
    "optimizer": SGD(learning_rate=2e-3),  # the paper's square root of 0.1 for 40 times 32 images, for a batch of 8
    "preparation": models.Preparation(mean=(124 / 255, 117 / 255, 104 / 255), deviation=(1 / (0.0167 * 255),) * 3,
                                      resample="bicubic"),
}
SMALL = {"blocks": (3, 4, 12, 3), "growth": (16, 32, 32, 64), "stem": 10, "stem_kernel": 3, "width": 128, "wide": 64}
DPN92 = {"blocks": (3, 4, 20, 3), "growth": (16, 32, 24, 128)}
DPN107 = {"blocks": (4, 8, 20, 3), "growth": (20, 64, 64, 128), "stem": 128, "width": 200, "groups": 50}
REDUCED = {"blocks": (2, 1), "growth": (4, 6), "stem": 8, "width": 16, "wide": 24, "groups": 4, "shape": (3, 32, 32)}
WINDOWED = dict(FACTS, reduced=dict(REDUCED, shape=(3, 56, 56)),
                preparation=replace(FACTS["preparation"], resample="bilinear"))  # as Cadene prepares all pictures


@models.model("dpn107_cadene", arguments=dict(DPN107, window=WINDOW), **WINDOWED)
@models.model("dpn107", arguments=DPN107, reduced=REDUCED, names={"timm": TIMM}, **FACTS)
@models.model("dpn92_cadene", arguments=dict(DPN92, window=WINDOW), **WINDOWED)
@models.model("dpn92", arguments=DPN92, reduced=REDUCED, names={"timm": TIMM}, **FACTS)
@models.model("dpn68", arguments=SMALL, reduced=REDUCED, names={"timm": TIMM}, **FACTS)
def dpn(image: Tensor, classes: int, blocks: Tuple[int, ...], growth: Tuple[int, ...], stem: int = 64,
        stem_kernel: int = 7, width: int = 96, wide: int = 256, groups: int = 32, window: int = 0) -> Tensor:
    """`blocks` per stage, each of which adds `growth` channels; `wide` and `width` are the first stage's channels that
    are added to and those inside a block, and double from stage to stage. `window` is the side of the windows of
    Cadene's end; 0 is timm's."""
    x = relu(batch_norm(conv(image, stem, stem_kernel, stride=2), EPSILON))
    x = max_pool(x, 3, stride=2, padding=1)
    for stage, (count, grown) in enumerate(zip(blocks, growth)):
        with scope("stage{}".format(stage + 1)):
            sizes = (width * 2 ** stage, wide * 2 ** stage, grown, groups)
            added, dense = first_dual_path(x, *sizes, stride=2 if stage else 1)
            for _ in range(count - 1):
                added, dense = dual_path(added, dense, *sizes)
            x = concat(added, dense)
    x = relu(batch_norm(x, EPSILON))
    return classified_by_window(x, classes, window) if window else linear(global_average_pool(x), classes)
