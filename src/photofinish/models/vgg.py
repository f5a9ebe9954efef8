"""VGG: Simonyan & Zisserman 2014, "Very Deep Convolutional Networks" (arXiv 1409.1556).

vgg16 and vgg19 are torchvision's: they pool to 7x7 whatever the input, and drop out before each hidden layer's
successor; vgg16_bn is torchvision's too, normalised after each convolution, whose bias stays. vgg16_keras and
vgg19_keras are keras.applications': they flatten what there is, without dropout.
"""

from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    adaptive_average_pool,
    batch_norm,
    conv,
    dropout,
    flatten,
    linear,
    max_pool,
    relu,
    scope,
)

Stages = Tuple[Tuple[int, int], ...]  # convolutions, channels

FACTS: Any = {
    "source": "arXiv 1409.1556",
    "optimizer": SGD(learning_rate=3e-4),  # the paper's 0.01 for 256 images, scaled to a batch of 8
    "reduced": {"stages": ((2, 8), (1, 16)), "hidden": 32, "shape": (3, 32, 32)},
}
D: Stages = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))  # configurations of table 1
E: Stages = ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512))


def features(x: Tensor, stages: Stages, normalised: bool = False) -> Tensor:
    for number, (count, channels) in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            for _ in range(count):
                x = conv(x, channels, 3, bias=True)
                x = relu(batch_norm(x) if normalised else x)
            x = max_pool(x, 2)
    return x


@models.model("vgg16_bn", arguments={"stages": D, "normalised": True}, **FACTS)
@models.model("vgg19", arguments={"stages": E}, **FACTS)
@models.model("vgg16", arguments={"stages": D}, **FACTS)
def vgg(image: Tensor, classes: int, stages: Stages, normalised: bool = False, hidden: int = 4096) -> Tensor:
    x = flatten(adaptive_average_pool(features(image, stages, normalised), 7))
    x = dropout(relu(linear(x, hidden)), 0.5)
    x = dropout(relu(linear(x, hidden)), 0.5)
    return linear(x, classes)


@models.model("vgg19_keras", arguments={"stages": E}, **FACTS)
@models.model("vgg16_keras", arguments={"stages": D}, **FACTS)
def vgg_keras(image: Tensor, classes: int, stages: Stages, hidden: int = 4096) -> Tensor:
    x = flatten(features(image, stages))
    x = relu(linear(x, hidden))
    x = relu(linear(x, hidden))
    return linear(x, classes)
