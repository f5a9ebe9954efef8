"""VGG: Simonyan & Zisserman 2014, "Very Deep Convolutional Networks" (arXiv 1409.1556).

vgg16 and vgg19 are torchvision's: they pool to 7x7 whatever the input, and drop out before each hidden layer's
successor; vgg16_bn and vgg19_bn are torchvision's too, normalised after each convolution, whose bias stays.
vgg16_keras and vgg19_keras are keras.applications': they flatten what there is, without dropout.
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

KERAS: models.Names = (
    ("stage{s}.conv{n}", "block{s}_conv{n}"),
    ("linear3", "predictions"),
    ("linear{n}", "fc{n}"))


def torchvision(stages: Stages, normalised: bool = False) -> models.Names:
    """Its convolutions, normalisations, activations and pools are numbered through."""
    names, place = [], 0
    for stage, (count, _) in enumerate(stages, start=1):
        for number in range(1, count + 1):
            names.append(("stage{}.(conv|batch_norm){}".format(stage, number),
                          "features.({}|{})".format(place, place + 1)))
            place += 3 if normalised else 2
        place += 1
    return tuple(names) + (("(linear1|linear2|linear3)", "classifier.(0|3|6)"),)


FACTS: Any = {
    "source": "arXiv 1409.1556",
    "optimizer": SGD(learning_rate=3e-4),  # the paper's 0.01 for 256 images, scaled to a batch of 8
    "reduced": {"stages": ((2, 8), (1, 16)), "hidden": 32, "shape": (3, 32, 32)},
}
KERAS_FACTS: Any = dict(FACTS, names={"keras.applications": KERAS}, preparation=models.CAFFE)
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


@models.model("vgg19_bn", arguments={"stages": E, "normalised": True}, names={"torchvision": torchvision(E, True)},
              **FACTS)
@models.model("vgg16_bn", arguments={"stages": D, "normalised": True}, names={"torchvision": torchvision(D, True)},
              **FACTS)
@models.model("vgg19", arguments={"stages": E}, names={"torchvision": torchvision(E)}, **FACTS)
@models.model("vgg16", arguments={"stages": D}, names={"torchvision": torchvision(D)}, **FACTS)
def vgg(image: Tensor, classes: int, stages: Stages, normalised: bool = False, hidden: int = 4096) -> Tensor:
    x = flatten(adaptive_average_pool(features(image, stages, normalised), 7))
    x = dropout(relu(linear(x, hidden)), 0.5)
    x = dropout(relu(linear(x, hidden)), 0.5)
    return linear(x, classes)


@models.model("vgg19_keras", arguments={"stages": E}, **KERAS_FACTS)
@models.model("vgg16_keras", arguments={"stages": D}, **KERAS_FACTS)
def vgg_keras(image: Tensor, classes: int, stages: Stages, hidden: int = 4096) -> Tensor:
    x = flatten(features(image, stages))
    x = relu(linear(x, hidden))
    x = relu(linear(x, hidden))
    return linear(x, classes)
