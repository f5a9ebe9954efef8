"""Inception-ResNet v2: Szegedy et al. 2016, "Inception-v4, Inception-ResNet" (arXiv 1602.07261).

inception_resnet_v2 is timm's and Cadene's; inception_resnet_v2_keras is keras.applications', whose normalisations
have no scale and Keras's constants. All three take the stem of Inception v3, not the paper's, and none its dropout.
"""

from functools import partial
from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.models.inception import (
    HALVING,
    STEM,
    Convolution,
    Stem,
    branch,
    conv_norm,
    conv_norm_keras,
    conv_norms,
    keras,
    pooled,
    stem,
)
from photofinish.optimizers import SGD
from photofinish.vocabulary import block, concat, conv, global_average_pool, linear, max_pool, relu, scale


@block
def mixed_a(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("single", x, convolution, (96, 1)),
        branch("five", x, convolution, (48, 1), (64, 5)),
        branch("double", x, convolution, (64, 1), (96, 3), (96, 3)),
        pooled(x, 64, convolution))


def joined(x: Tensor, factor: float, *branches: Tensor) -> Tensor:
    """x plus `factor` times its branches, brought to its channels: unscaled, training so wide a net is unstable."""
    return x + scale(conv(concat(*branches), x.channels, 1, bias=True), factor)


@block
def inception_a(x: Tensor, convolution: Convolution) -> Tensor:
    return relu(joined(
        x, 0.17,
        branch("single", x, convolution, (32, 1)),
        branch("three", x, convolution, (32, 1), (32, 3)),
        branch("double", x, convolution, (32, 1), (48, 3), (64, 3))))


@block
def reduction_a(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("three", x, convolution, (384, 3), **HALVING),
        branch("double", x, convolution, (256, 1), (256, 3), (384, 3), **HALVING),
        max_pool(x, 3, stride=2))


@block
def inception_b(x: Tensor, convolution: Convolution) -> Tensor:
    return relu(joined(
        x, 0.1,
        branch("single", x, convolution, (192, 1)),
        branch("seven", x, convolution, (128, 1), (160, (1, 7)), (192, (7, 1)))))


@block
def reduction_b(x: Tensor, convolution: Convolution) -> Tensor:
    return concat(
        branch("wide", x, convolution, (256, 1), (384, 3), **HALVING),
        branch("narrow", x, convolution, (256, 1), (288, 3), **HALVING),
        branch("double", x, convolution, (256, 1), (288, 3), (320, 3), **HALVING),
        max_pool(x, 3, stride=2))


@block
def inception_c(x: Tensor, factor: float, convolution: Convolution) -> Tensor:
    """Without the ReLU, which the last one does not have."""
    return joined(
        x, factor,
        branch("single", x, convolution, (192, 1)),
        branch("three", x, convolution, (192, 1), (224, (1, 3)), (256, (3, 1))))


TIMM: models.Names = conv_norms(
    ("stem", "1", "conv2d_1a"),
    ("stem", "2", "conv2d_2a"),
    ("stem", "3", "conv2d_2b"),
    ("stem", "4", "conv2d_3b"),
    ("stem", "5", "conv2d_4a"),
    ("mixed_a1.single", "1", "mixed_5b.branch0"),
    ("mixed_a1.five", "{n}", "mixed_5b.branch1.{n-1}"),
    ("mixed_a1.double", "{n}", "mixed_5b.branch2.{n-1}"),
    ("mixed_a1.pool", "1", "mixed_5b.branch3.1"),
    ("inception_a{b}.single", "1", "repeat.{b-1}.branch0"),
    ("inception_a{b}.three", "{n}", "repeat.{b-1}.branch1.{n-1}"),
    ("inception_a{b}.double", "{n}", "repeat.{b-1}.branch2.{n-1}"),
    ("reduction_a1.three", "1", "mixed_6a.branch0"),
    ("reduction_a1.double", "{n}", "mixed_6a.branch1.{n-1}"),
    ("inception_b{b}.single", "1", "repeat_1.{b-1}.branch0"),
    ("inception_b{b}.seven", "{n}", "repeat_1.{b-1}.branch1.{n-1}"),
    ("reduction_b1.wide", "{n}", "mixed_7a.branch0.{n-1}"),
    ("reduction_b1.narrow", "{n}", "mixed_7a.branch1.{n-1}"),
    ("reduction_b1.double", "{n}", "mixed_7a.branch2.{n-1}"),
    ("inception_c10.single", "1", "block8.branch0"),
    ("inception_c10.three", "{n}", "block8.branch1.{n-1}"),
    ("inception_c{b}.single", "1", "repeat_2.{b-1}.branch0"),
    ("inception_c{b}.three", "{n}", "repeat_2.{b-1}.branch1.{n-1}")) + (
    ("inception_a{b}.conv1", "repeat.{b-1}.conv2d"),
    ("inception_b{b}.conv1", "repeat_1.{b-1}.conv2d"),
    ("inception_c10.conv1", "block8.conv2d"),
    ("inception_c{b}.conv1", "repeat_2.{b-1}.conv2d"),
    ("(conv|batch_norm)1", "conv2d_7b.(conv|bn)"),
    ("linear1", "classif"))
KERAS: models.Names = (
    ("inception_a{b}.conv1", "block35_{b}_conv"),
    ("inception_b{b}.conv1", "block17_{b}_conv"),
    ("inception_c{b}.conv1", "block8_{b}_conv"),
    ("(conv|batch_norm)1", "(conv_7b|conv_7b_bn)")) + keras(
        ("stem", {"": 5}),
        ("mixed_a1", {"single": 1, "five": 2, "double": 3, "pool": 1}),
        *(("inception_a{}".format(i), {"single": 1, "three": 2, "double": 3}) for i in range(1, 11)),
        ("reduction_a1", {"three": 1, "double": 3}),
        *(("inception_b{}".format(i), {"single": 1, "seven": 3}) for i in range(1, 21)),
        ("reduction_b1", {"wide": 2, "narrow": 2, "double": 3}),
        *(("inception_c{}".format(i), {"single": 1, "three": 3}) for i in range(1, 11)))
FACTS: Any = {
    "inputs": models.image(3, 299, 299),
    "source": "arXiv 1602.07261",
    "optimizer": SGD(learning_rate=1.1e-2),  # the paper's 0.045 of RMSProp for v3's 32 images, scaled to 8
    "reduced": {"layers": ((32, 3, 1, 0),), "blocks": (1, 1, 1), "width": 0.02, "shape": (3, 13, 13)},
}


@models.model("inception_resnet_v2_keras", arguments={"convolution": conv_norm_keras},
              names={"keras.applications": KERAS}, preparation=models.MINUS_ONE_TO_ONE, **FACTS)
@models.model("inception_resnet_v2", names={"timm": TIMM}, preparation=models.timm_inception(0.8975), **FACTS)
def inception_resnet_v2(image: Tensor, classes: int, convolution: Convolution = conv_norm,
                        layers: Stem = STEM, blocks: Tuple[int, int, int] = (10, 20, 9),
                        width: float = 1.0) -> Tensor:
    """The `layers` of the stem, `blocks` of the kinds A, B and C, and one more C whose branches are not scaled down."""
    convolution = partial(convolution, width=width)
    x = mixed_a(stem(image, layers, convolution), convolution)
    for _ in range(blocks[0]):
        x = inception_a(x, convolution)
    x = reduction_a(x, convolution)
    for _ in range(blocks[1]):
        x = inception_b(x, convolution)
    x = reduction_b(x, convolution)
    for _ in range(blocks[2]):
        x = relu(inception_c(x, 0.2, convolution))
    x = convolution(inception_c(x, 1.0, convolution), 1536, 1)
    return linear(global_average_pool(x), classes)
