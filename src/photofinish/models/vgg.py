"""VGG: Simonyan & Zisserman 2014, "Very Deep Convolutional Networks" (arXiv 1409.1556).

vgg16 is torchvision's: it pools to 7x7 whatever the input, and drops out before each hidden layer's
successor. vgg16_keras is keras.applications': it flattens what there is, without dropout.
"""

from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import adaptive_average_pool, conv, dropout, flatten, linear, max_pool, relu, scope

FACTS: Any = {
    "source": "arXiv 1409.1556",
    "optimizer": SGD(learning_rate=3e-4),  # the paper's 0.01 for 256 images, scaled to a batch of 8
    "reduced": {"stages": ((2, 8), (1, 16)), "hidden": 32, "shape": (3, 32, 32)},
}
STAGES = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))  # configuration D: convolutions, channels


def features(x: Tensor, stages: Tuple[Tuple[int, int], ...]) -> Tensor:
    for number, (count, channels) in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            for _ in range(count):
                x = relu(conv(x, channels, 3, bias=True))
            x = max_pool(x, 2)
    return x


@models.model(**FACTS)
def vgg16(image: Tensor, classes: int, stages: Tuple[Tuple[int, int], ...] = STAGES, hidden: int = 4096) -> Tensor:
    x = flatten(adaptive_average_pool(features(image, stages), 7))
    x = dropout(relu(linear(x, hidden)), 0.5)
    x = dropout(relu(linear(x, hidden)), 0.5)
    return linear(x, classes)


@models.model(**FACTS)
def vgg16_keras(image: Tensor, classes: int, stages: Tuple[Tuple[int, int], ...] = STAGES,
                hidden: int = 4096) -> Tensor:
    x = flatten(features(image, stages))
    x = relu(linear(x, hidden))
    x = relu(linear(x, hidden))
    return linear(x, classes)
