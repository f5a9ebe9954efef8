"""SqueezeNet: Iandola et al. 2016, "AlexNet-level accuracy with 50x fewer parameters" (arXiv 1602.07360).

Both are torchvision's: squeezenet is the paper's version 1.0, squeezenet1_1 its authors' next, which pools earlier.
"""

from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import block, concat, conv, dropout, global_average_pool, max_pool, relu, scope


@block
def fire(x: Tensor, squeezed: int) -> Tensor:
    """Squeezes to a few channels, from which two convolutions make eight times as many."""
    x = relu(conv(x, squeezed, 1, bias=True))
    return concat(relu(conv(x, 4 * squeezed, 1, bias=True)), relu(conv(x, 4 * squeezed, 3, bias=True)))


def torchvision(*fires: Tuple[int, ...]) -> models.Names:
    """`fires` are the numbers of each stage's modules: activations and pools are numbered with them."""
    modules = tuple(("stage{}.fire{}.(conv1|conv2|conv3)".format(stage, number),
                     "features.{}.(squeeze|expand1x1|expand3x3)".format(place))
                    for stage, places in enumerate(fires, start=1) for number, place in enumerate(places, start=1))
    return modules + (("(conv1|conv2)", "(features.0|classifier.1)"),)


FACTS: Any = {
    "source": "arXiv 1602.07360",
    "optimizer": SGD(learning_rate=6e-4),  # the authors' 0.04 for 512 images, scaled to a batch of 8
    "reduced": {"stages": ((4,), (6, 8)), "stem": 16, "shape": (3, 33, 33)},
}


@models.model("squeezenet1_1", arguments={"stages": ((16, 16), (32, 32), (48, 48, 64, 64)), "stem": 64, "kernel": 3},
              names={"torchvision": torchvision((3, 4), (6, 7), (9, 10, 11, 12))}, **FACTS)
@models.model("squeezenet", arguments={"stages": ((16, 16, 32), (32, 48, 48, 64), (64,)), "stem": 96, "kernel": 7},
              names={"torchvision": torchvision((3, 4, 5), (7, 8, 9, 10), (12,))}, **FACTS)
def squeezenet(image: Tensor, classes: int, stages: Tuple[Tuple[int, ...], ...], stem: int, kernel: int) -> Tensor:
    """`stages` are the squeezed channels of each fire module, with a max-pool before each stage.

    There is no hidden layer: the classes are the channels of the last convolution, averaged after their ReLU.
    """
    x = relu(conv(image, stem, kernel, stride=2, padding=0, bias=True))
    for number, fires in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            x = max_pool(x, 3, stride=2, ceil=True)
            for squeezed in fires:
                x = fire(x, squeezed)
    x = relu(conv(dropout(x, 0.5), classes, 1, bias=True))
    return global_average_pool(x)
