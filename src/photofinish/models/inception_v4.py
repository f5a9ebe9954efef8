"""Inception v4: Szegedy et al. 2016, "Inception-v4, Inception-ResNet" (arXiv 1602.07261), as timm and Cadene build it.

Neither keeps the paper's dropout in front of the classifier.
"""

from functools import partial
from typing import Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.models.inception import (
    HALVING,
    STEM,
    Convolution,
    Stem,
    branch,
    conv_norm,
    conv_norms,
    forked,
    pooled,
    stem,
)
from photofinish.optimizers import SGD
from photofinish.vocabulary import block, concat, global_average_pool, linear, max_pool


@block
def mixed(x: Tensor, convolution: Convolution) -> Tensor:
    """Figure 3 from its first fork on: 64x147x147 to 384x35x35, halved by pools and convolutions side by side."""
    x = concat(max_pool(x, 3, stride=2), convolution(x, 96, 3, **HALVING))
    x = concat(
        branch("three", x, convolution, (64, 1), (96, 3), padding=0),
        branch("seven", x, convolution, (64, 1), (64, (1, 7)), (64, (7, 1)), (96, 3), padding=0))
    return concat(convolution(x, 192, 3, **HALVING), max_pool(x, 3, stride=2))


@block
def inception_a(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("single", x, convolution, (96, 1)),
        branch("three", x, convolution, (64, 1), (96, 3)),
        branch("double", x, convolution, (64, 1), (96, 3), (96, 3)),
        pooled(x, 96, convolution))


@block
def reduction_a(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("three", x, convolution, (384, 3), **HALVING),
        branch("double", x, convolution, (192, 1), (224, 3), (256, 3), **HALVING),
        max_pool(x, 3, stride=2))


@block
def inception_b(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("single", x, convolution, (384, 1)),
        branch("seven", x, convolution, (192, 1), (224, (1, 7)), (256, (7, 1))),
        branch("double", x, convolution, (192, 1), (192, (7, 1)), (224, (1, 7)), (224, (7, 1)), (256, (1, 7))),
        pooled(x, 128, convolution))


@block
def reduction_b(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("three", x, convolution, (192, 1), (192, 3), **HALVING),
        branch("seven", x, convolution, (256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3), **HALVING),
        max_pool(x, 3, stride=2))


@block
def inception_c(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("single", x, convolution, (256, 1)),
        forked("three", x, convolution, (384, 1), (256, 3)),
        forked("double", x, convolution, (384, 1), (448, (3, 1)), (512, (1, 3)), (256, 3)),
        pooled(x, 256, convolution))


TIMM: models.Names = conv_norms(
    ("stem", "{n}", "features.{n-1}"),
    ("mixed1", "1", "features.3.conv"),
    ("mixed1.three", "{n}", "features.4.branch0.{n-1}"),
    ("mixed1.seven", "{n}", "features.4.branch1.{n-1}"),
    ("mixed1", "2", "features.5.conv"),
    ("inception_a{b}.single", "1", "features.{b+5}.branch0"),
    ("inception_a{b}.three", "{n}", "features.{b+5}.branch1.{n-1}"),
    ("inception_a{b}.double", "{n}", "features.{b+5}.branch2.{n-1}"),
    ("inception_a{b}.pool", "1", "features.{b+5}.branch3.1"),
    ("reduction_a1.three", "1", "features.10.branch0"),
    ("reduction_a1.double", "{n}", "features.10.branch1.{n-1}"),
    ("inception_b{b}.single", "1", "features.{b+10}.branch0"),
    ("inception_b{b}.seven", "{n}", "features.{b+10}.branch1.{n-1}"),
    ("inception_b{b}.double", "{n}", "features.{b+10}.branch2.{n-1}"),
    ("inception_b{b}.pool", "1", "features.{b+10}.branch3.1"),
    ("reduction_b1.three", "{n}", "features.18.branch0.{n-1}"),
    ("reduction_b1.seven", "{n}", "features.18.branch1.{n-1}"),
    ("inception_c{b}.single", "1", "features.{b+18}.branch0"),
    ("inception_c{b}.three", "1", "features.{b+18}.branch1_0"),
    ("inception_c{b}.three", "2", "features.{b+18}.branch1_1a"),
    ("inception_c{b}.three", "3", "features.{b+18}.branch1_1b"),
    ("inception_c{b}.double", "4", "features.{b+18}.branch2_3a"),
    ("inception_c{b}.double", "5", "features.{b+18}.branch2_3b"),
    ("inception_c{b}.double", "{n}", "features.{b+18}.branch2_{n-1}"),
    ("inception_c{b}.pool", "1", "features.{b+18}.branch3.1")) + (
    ("linear1", "last_linear"),)


@models.model(inputs=models.image(3, 299, 299), source="arXiv 1602.07261", names={"timm": TIMM},
              optimizer=SGD(learning_rate=1.1e-2),  # the paper's 0.045 of RMSProp for v3's 32 images, scaled to 8
              reduced={"layers": ((32, 3, 1, 0),), "blocks": (1, 1, 1), "width": 0.02, "shape": (3, 53, 53)},
              preparation=models.timm_inception(0.875))
def inception_v4(image: Tensor, classes: int, layers: Stem = STEM[:3], blocks: Tuple[int, int, int] = (4, 7, 3),
                 width: float = 1.0) -> Tensor:
    """The `layers` that the stem begins with, and `blocks` of the kinds A, B and C."""
    convolution = partial(conv_norm, width=width)
    x = mixed(stem(image, layers, convolution), convolution)
    for _ in range(blocks[0]):
        x = inception_a(x, convolution)
    x = reduction_a(x, convolution)
    for _ in range(blocks[1]):
        x = inception_b(x, convolution)
    x = reduction_b(x, convolution)
    for _ in range(blocks[2]):
        x = inception_c(x, convolution)
    return linear(global_average_pool(x), classes)
