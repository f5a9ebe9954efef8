"""ResNet: He et al. 2015, "Deep Residual Learning for Image Recognition" (arXiv 1512.03385).

resnet18 to resnet152 are torchvision's, whose bottlenecks stride on the 3x3 convolution ("v1.5"); those called
v1 stride on the first 1x1, as the paper; those called v1_keras are keras.applications', strided likewise.
resnet50_v2_keras is keras.applications' network of pre-activated blocks (He et al. 2016, "Identity Mappings in Deep
Residual Networks", arXiv 1603.05027).
"""

from typing import Any, Callable, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, block, conv, global_average_pool, linear, max_pool, pad, relu, scope

Convolution = Callable[..., Tensor]


def conv_norm(x: Tensor, channels: int, kernel: int, stride: int = 1) -> Tensor:
    return batch_norm(conv(x, channels, kernel, stride))


def conv_norm_keras(x: Tensor, channels: int, kernel: int, stride: int = 1) -> Tensor:
    """As keras.applications: a bias in front of the normalisation, and Keras's own constants in it."""
    return batch_norm_keras(conv(x, channels, kernel, stride, bias=True))


def batch_norm_keras(x: Tensor) -> Tensor:
    return batch_norm(x, epsilon=1.001e-5, momentum=0.99, running_variance="population")


def shortcut(x: Tensor, channels: int, stride: int, convolution: Convolution) -> Tensor:
    """The identity where shapes agree, otherwise a projection (the paper's option B)."""
    if stride == 1 and x.channels == channels:
        return x
    with scope("projection"):
        return convolution(x, channels, 1, stride)


@block
def basic(x: Tensor, width: int, stride: int, convolution: Convolution) -> Tensor:
    y = relu(convolution(x, width, 3, stride))
    y = convolution(y, width, 3)
    return relu(y + shortcut(x, width, stride, convolution))


@block
def bottleneck(x: Tensor, width: int, stride: int, convolution: Convolution) -> Tensor:
    y = relu(convolution(x, width, 1))
    y = relu(convolution(y, width, 3, stride))
    y = convolution(y, 4 * width, 1)
    return relu(y + shortcut(x, 4 * width, stride, convolution))


@block
def original_bottleneck(x: Tensor, width: int, stride: int, convolution: Convolution) -> Tensor:
    y = relu(convolution(x, width, 1, stride))
    y = relu(convolution(y, width, 3))
    y = convolution(y, 4 * width, 1)
    return relu(y + shortcut(x, 4 * width, stride, convolution))


@block
def preactivated_bottleneck(x: Tensor, width: int, stride: int, project: bool) -> Tensor:
    """Normalises before it convolves; the projection starts from the activation, the identity before it."""
    y = relu(batch_norm_keras(x))
    if project:
        with scope("projection"):
            x = conv(y, 4 * width, 1, bias=True)
    elif stride > 1:
        x = max_pool(x, 1, stride=stride)
    y = relu(batch_norm_keras(conv(y, width, 1)))
    y = relu(batch_norm_keras(conv(y, width, 3, stride)))
    return conv(y, 4 * width, 1, bias=True) + x


TORCHVISION: models.Names = (
    ("(conv|batch_norm)1", "(conv|bn)1"),
    ("stage{s}.*{b}.(conv|batch_norm){n}", "layer{s}.{b-1}.(conv|bn){n}"),
    ("stage{s}.*{b}.projection.(conv|batch_norm)1", "layer{s}.{b-1}.downsample.(0|1)"),
    ("linear1", "fc"))
KERAS: models.Names = (
    ("(conv|batch_norm)1", "conv1_(conv|bn)"),
    ("stage{s}.*{b}.(conv|batch_norm){n}", "conv{s+1}_block{b}_{n}_(conv|bn)"),
    ("stage{s}.*{b}.projection.(conv|batch_norm)1", "conv{s+1}_block{b}_0_(conv|bn)"),
    ("linear1", "predictions"))
KERAS_V2: models.Names = (
    ("(conv|batch_norm)1", "(conv1_conv|post_bn)"),
    ("stage{s}.*{b}.batch_norm1", "conv{s+1}_block{b}_preact_bn"),
    ("stage{s}.*{b}.batch_norm{n}", "conv{s+1}_block{b}_{n-1}_bn")) + KERAS[1:]

FACTS: Any = {
    "source": "arXiv 1512.03385",
    "optimizer": SGD(learning_rate=3e-3),  # the paper's 0.1 for 256 images, scaled to a batch of 8
    "reduced": {"blocks": (2, 2), "width": 8, "shape": (3, 32, 32)},
    "names": {"torchvision": TORCHVISION, "timm": TORCHVISION},
}
KERAS_FACTS: Any = dict(FACTS, names={"keras.applications": KERAS}, preparation=models.CAFFE)


@models.model("resnet152_v1_keras", arguments={"residual": original_bottleneck, "blocks": (3, 8, 36, 3),
                                               "convolution": conv_norm_keras}, **KERAS_FACTS)
@models.model("resnet101_v1_keras", arguments={"residual": original_bottleneck, "blocks": (3, 4, 23, 3),
                                               "convolution": conv_norm_keras}, **KERAS_FACTS)
@models.model("resnet50_v1_keras", arguments={"residual": original_bottleneck, "blocks": (3, 4, 6, 3),
                                              "convolution": conv_norm_keras}, **KERAS_FACTS)
@models.model("resnet152_v1", arguments={"residual": original_bottleneck, "blocks": (3, 8, 36, 3)},
              **dict(FACTS, names={}))
@models.model("resnet101_v1", arguments={"residual": original_bottleneck, "blocks": (3, 4, 23, 3)},
              **dict(FACTS, names={}))
@models.model("resnet50_v1", arguments={"residual": original_bottleneck, "blocks": (3, 4, 6, 3)},
              **dict(FACTS, names={}))
@models.model("resnet152", arguments={"residual": bottleneck, "blocks": (3, 8, 36, 3)}, **FACTS)
@models.model("resnet101", arguments={"residual": bottleneck, "blocks": (3, 4, 23, 3)}, **FACTS)
@models.model("resnet50", arguments={"residual": bottleneck, "blocks": (3, 4, 6, 3)}, **FACTS)
@models.model("resnet34", arguments={"residual": basic, "blocks": (3, 4, 6, 3)}, **FACTS)
@models.model("resnet18", arguments={"residual": basic, "blocks": (2, 2, 2, 2)}, **FACTS)
def resnet(image: Tensor, classes: int, residual: Callable[..., Tensor], blocks: Tuple[int, ...],
           width: int = 64, convolution: Convolution = conv_norm) -> Tensor:
    """`blocks` residual blocks per stage; the width doubles and the image halves from stage to stage.

    Keras pads the max-pool's input with zeros; after a ReLU that is the same as minus infinity.
    """
    x = relu(convolution(image, width, 7, 2))
    x = max_pool(x, 3, stride=2, padding=1)
    for stage, count in enumerate(blocks):
        with scope("stage{}".format(stage + 1)):
            for position in range(count):
                stride = 2 if stage > 0 and position == 0 else 1
                x = residual(x, width * 2 ** stage, stride, convolution)
    return linear(global_average_pool(x), classes)


@models.model("resnet50_v2_keras", **dict(FACTS, source="arXiv 1603.05027", names={"keras.applications": KERAS_V2},
                                          preparation=models.MINUS_ONE_TO_ONE))
def resnet_v2_keras(image: Tensor, classes: int, blocks: Tuple[int, ...] = (3, 4, 6, 3), width: int = 64) -> Tensor:
    """Each stage but the last strides in its last block, where the paper and others stride in the first.

    The max-pool's padding is zeros, which count here: no ReLU stands before it.
    """
    x = conv(image, width, 7, 2, bias=True)
    x = max_pool(pad(x, 1), 3, stride=2)
    for stage, count in enumerate(blocks):
        with scope("stage{}".format(stage + 1)):
            for position in range(count):
                stride = 2 if stage < len(blocks) - 1 and position == count - 1 else 1
                x = preactivated_bottleneck(x, width * 2 ** stage, stride, project=position == 0)
    return linear(global_average_pool(relu(batch_norm_keras(x))), classes)
