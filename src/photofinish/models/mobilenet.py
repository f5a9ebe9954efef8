"""MobileNets: V1, Howard et al. 2017 (arXiv 1704.04861); V2, Sandler et al. 2018, "Inverted Residuals and Linear
Bottlenecks" (arXiv 1801.04381).

mobilenet_v1 is timm's mobilenetv1_100, mobilenet_v2 torchvision's: both pad one pixel on every side where they stride.
keras.applications' have the same parameters, and the same work at 224, but pad an even image only below and on the
right, so that their windows lie one pixel further; mobilenet_v2_keras is one of them. timm and Keras clip the V1's
ReLU at 6, as the V2 does; Keras drops out before the V1's head, at a rate of 0.001.
"""

from functools import partial
from typing import Any, Callable, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, block, conv, dropout, global_average_pool, linear, relu6, scope

Sides = Tuple[int, int, int, int]  # of padding: above, left, below, right

V1_STAGES = (  # table 1: channels, blocks, stride of the first block
    (64, 1, 1),
    (128, 2, 2),
    (256, 2, 2),
    (512, 6, 2),
    (1024, 2, 2),
)
V2_STAGES = (  # table 2: expansion, channels, blocks, stride of the first block
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


@block
def separable(x: Tensor, channels: int, stride: int) -> Tensor:
    """A depthwise convolution, then a pointwise one."""
    x = relu6(batch_norm(conv(x, x.channels, 3, stride, groups=x.channels)))
    return relu6(batch_norm(conv(x, channels, 1)))


V1_TIMM: models.Names = (
    ("(conv|batch_norm)1", "(conv_stem|bn1)"),
    ("stage{s}.*{b}.(conv|batch_norm)1", "blocks.{s-1}.{b-1}.(conv_dw|bn1)"),
    ("stage{s}.*{b}.(conv|batch_norm)2", "blocks.{s-1}.{b-1}.(conv_pw|bn2)"),
    ("linear1", "classifier"))


@models.model(source="arXiv 1704.04861", names={"timm": V1_TIMM},
       optimizer=SGD(learning_rate=4e-3),  # the V2 paper's, of RMSProp: this one names no rate
       reduced={"stages": ((8, 1, 1), (16, 2, 2)), "stem": 8, "shape": (3, 32, 32)},
       preparation=models.timm_inception(0.875))
def mobilenet_v1(image: Tensor, classes: int, stages: Tuple[Tuple[int, int, int], ...] = V1_STAGES,
                 stem: int = 32) -> Tensor:
    x = relu6(batch_norm(conv(image, stem, 3, stride=2)))
    for number, (channels, count, stride) in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            for position in range(count):
                x = separable(x, channels, 1 if position else stride)
    return linear(global_average_pool(x), classes)


def around(x: Tensor, stride: int) -> Sides:
    return (1, 1, 1, 1)


def after(x: Tensor, stride: int) -> Sides:
    """As TensorFlow pads for a 3x3 convolution that strides: what is needed in all, the odd pixel behind."""
    return (x.spec.size("H") % 2, x.spec.size("W") % 2, 1, 1) if stride == 2 else (1, 1, 1, 1)


@block
def inverted_residual(x: Tensor, expansion: int, channels: int, stride: int, norm: Callable[..., Tensor],
                      padding: Callable[..., Sides]) -> Tensor:
    y, wide = x, expansion * x.channels
    if expansion > 1:
        y = relu6(norm(conv(y, wide, 1)))
    y = relu6(norm(conv(y, wide, 3, stride, padding(y, stride), groups=wide)))
    y = norm(conv(y, channels, 1))
    return x + y if stride == 1 and x.channels == channels else y


V2_TORCHVISION: models.Names = (
    ("(conv|batch_norm)1", "features.0.(0|1)"),
    ("stage1.*1.(conv|batch_norm)1", "features.1.conv.0.(0|1)"),
    ("stage1.*1.(conv|batch_norm)2", "features.1.conv.(1|2)"),
    ("stage{s}.*{b}.(conv|batch_norm)3", "features.{#}.conv.(2|3)"),
    ("stage{s}.*{b}.(conv|batch_norm){n}", "features.{#}.conv.{n-1}.(0|1)"),
    ("(conv|batch_norm)2", "features.18.(0|1)"),
    ("linear1", "classifier.1"))
V2_TIMM: models.Names = (
    ("(conv|batch_norm)1", "(conv_stem|bn1)"),
    ("stage1.*1.(conv|batch_norm)1", "blocks.0.0.(conv_dw|bn1)"),
    ("stage1.*1.(conv|batch_norm)2", "blocks.0.0.(conv_pw|bn2)"),
    ("stage{s}.*{b}.(conv1|conv2|conv3)", "blocks.{s-1}.{b-1}.(conv_pw|conv_dw|conv_pwl)"),
    ("stage{s}.*{b}.batch_norm{n}", "blocks.{s-1}.{b-1}.bn{n}"),
    ("(conv|batch_norm)2", "(conv_head|bn2)"),
    ("linear1", "classifier"))
V2_KERAS: models.Names = (
    ("(conv|batch_norm)1", "(Conv1|bn_Conv1)"),
    ("stage1.*1.(conv|batch_norm)1", "expanded_conv_(depthwise|depthwise_BN)"),
    ("stage1.*1.(conv|batch_norm)2", "expanded_conv_(project|project_BN)"),
    ("stage{s}.*{b}.(conv|batch_norm)1", "block_{#-1}_(expand|expand_BN)"),
    ("stage{s}.*{b}.(conv|batch_norm)2", "block_{#-1}_(depthwise|depthwise_BN)"),
    ("stage{s}.*{b}.(conv|batch_norm)3", "block_{#-1}_(project|project_BN)"),
    ("(conv|batch_norm)2", "(Conv_1|Conv_1_bn)"),
    ("linear1", "predictions"))
V2_FACTS: Any = {
    "source": "arXiv 1801.04381",
    "optimizer": SGD(learning_rate=4e-3),  # the paper's 0.045 of RMSProp for 96 images, scaled to 8
    "reduced": {"stages": ((1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 1, 1)), "stem": 8, "head": 32, "shape": (3, 32, 32)},
}
norm_keras = partial(batch_norm, epsilon=1e-3, momentum=0.999, running_variance="population")


@models.model("mobilenet_v2_keras", arguments={"norm": norm_keras, "padding": after, "drop": 0.0},
              names={"keras.applications": V2_KERAS}, preparation=models.MINUS_ONE_TO_ONE, **V2_FACTS)
@models.model(names={"torchvision": V2_TORCHVISION, "timm": V2_TIMM}, **V2_FACTS)
def mobilenet_v2(image: Tensor, classes: int, stages: Tuple[Tuple[int, int, int, int], ...] = V2_STAGES,
                 stem: int = 32, head: int = 1280, norm: Callable[..., Tensor] = batch_norm,
                 padding: Callable[..., Sides] = around, drop: float = 0.2) -> Tensor:
    x = relu6(norm(conv(image, stem, 3, 2, padding(image, 2))))
    for number, (expansion, channels, count, stride) in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            for position in range(count):
                x = inverted_residual(x, expansion, channels, 1 if position else stride, norm, padding)
    x = global_average_pool(relu6(norm(conv(x, head, 1))))
    return linear(dropout(x, drop) if drop else x, classes)
