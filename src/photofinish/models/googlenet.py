"""GoogLeNet (Inception v1): Szegedy et al. 2014, "Going Deeper with Convolutions" (arXiv 1409.4842), as torchvision.

Torchvision's differs from the paper's: every convolution is normalised, there is no local response normalisation, and
the branch drawn with 5x5 convolutions has 3x3 ones (its issue 906), and 0.2 are dropped where the paper drops 0.4. The
auxiliary heads are left out, as torchvision leaves them out of its trained network.
"""

from typing import Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    batch_norm,
    block,
    concat,
    conv,
    dropout,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scope,
)

Branches = Tuple[int, int, int, int, int, int]  # 1x1; reduced, 3x3; reduced, "5x5"; after the pool
STAGES: Tuple[Tuple[Branches, ...], ...] = (  # table 1: modules 3a to 5b
    ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64)),
    ((192, 96, 208, 16, 48, 64), (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
     (256, 160, 320, 32, 128, 128)),
    ((256, 160, 320, 32, 128, 128), (384, 192, 384, 48, 128, 128)),
)


def conv_norm(x: Tensor, channels: int, kernel: int, stride: int = 1) -> Tensor:
    return relu(batch_norm(conv(x, channels, kernel, stride), epsilon=1e-3))


@block
def inception(x: Tensor, branches: Branches) -> Tensor:
    direct, narrow, middle, narrower, wide, pooled = branches
    return concat(
        conv_norm(x, direct, 1),
        conv_norm(conv_norm(x, narrow, 1), middle, 3),
        conv_norm(conv_norm(x, narrower, 1), wide, 3),
        conv_norm(max_pool(x, 3, stride=1, padding=1, ceil=True), pooled, 1),
    )


BRANCHES = ("branch1", "branch2.0", "branch2.1", "branch3.0", "branch3.1", "branch4.1")
TORCHVISION: models.Names = tuple(
    ("stage{s}.inception" + str(number) + ".(conv|batch_norm)" + str(place),
     "inception{s}" + letter + "." + branch + ".(conv|bn)")
    for number, letter in enumerate("abcde", start=1) for place, branch in enumerate(BRANCHES, start=1)) + (
    ("(conv|batch_norm){n}", "conv{n}.(conv|bn)"),
    ("linear1", "fc"),
    ("", "aux*"))  # the heads that help it train


@models.model(source="arXiv 1409.4842", names={"torchvision": TORCHVISION},
       optimizer=SGD(learning_rate=2.5e-3),  # Caffe's 0.01 for 32 images, scaled to a batch of 8; the paper names none
       reduced={"stages": (((4, 4, 8, 4, 4, 4),),) * 3, "stem": 8, "shape": (3, 57, 57)},
       preparation=models.MINUS_ONE_TO_ONE)
def googlenet(image: Tensor, classes: int, stages: Tuple[Tuple[Branches, ...], ...] = STAGES,
              stem: int = 64) -> Tensor:
    """Before the last stage the max-pool is 2x2, as in torchvision; in the paper every one is 3x3."""
    x = conv_norm(image, stem, 7, stride=2)
    x = max_pool(x, 3, stride=2, ceil=True)
    x = conv_norm(conv_norm(x, stem, 1), 3 * stem, 3)
    for number, modules in enumerate(stages, start=3):
        with scope("stage{}".format(number)):
            x = max_pool(x, 2 if number == len(stages) + 2 else 3, stride=2, ceil=True)
            for branches in modules:
                x = inception(x, branches)
    return linear(dropout(global_average_pool(x), 0.2), classes)
