"""ResNet: He et al. 2015, "Deep Residual Learning for Image Recognition" (arXiv 1512.03385).

resnet18, resnet50 and resnet152 are torchvision's, whose bottlenecks stride on the 3x3 convolution
("v1.5"); resnet50_v1 strides on the first 1x1, as the paper; resnet50_v1_keras is keras.applications'.
"""

from typing import Any, Callable, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, block, conv, global_average_pool, linear, max_pool, relu, scope

Convolution = Callable[..., Tensor]


def conv_norm(x: Tensor, channels: int, kernel: int, stride: int = 1) -> Tensor:
    return batch_norm(conv(x, channels, kernel, stride))


def conv_norm_keras(x: Tensor, channels: int, kernel: int, stride: int = 1) -> Tensor:
    """As keras.applications: a bias in front of the normalisation, and Keras's own constants in it."""
    y = conv(x, channels, kernel, stride, bias=True)
    return batch_norm(y, epsilon=1.001e-5, momentum=0.99, running_variance="population")


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


FACTS: Any = {
    "source": "arXiv 1512.03385",
    "optimizer": SGD(learning_rate=3e-3),  # the paper's 0.1 for 256 images, scaled to a batch of 8
    "reduced": {"blocks": (2, 2), "width": 8, "shape": (3, 32, 32)},
}


@models.model("resnet50_v1_keras", arguments={"residual": original_bottleneck, "blocks": (3, 4, 6, 3),
                                              "convolution": conv_norm_keras}, **FACTS)
@models.model("resnet50_v1", arguments={"residual": original_bottleneck, "blocks": (3, 4, 6, 3)}, **FACTS)
@models.model("resnet152", arguments={"residual": bottleneck, "blocks": (3, 8, 36, 3)}, **FACTS)
@models.model("resnet50", arguments={"residual": bottleneck, "blocks": (3, 4, 6, 3)}, **FACTS)
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
