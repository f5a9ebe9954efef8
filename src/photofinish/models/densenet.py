"""DenseNet: Huang et al. 2016, "Densely Connected Convolutional Networks" (arXiv 1608.06993), as torchvision and timm.

These are the paper's DenseNet-BC: bottlenecks, and transitions that halve the channels. densenet121_keras and
densenet169_keras are keras.applications', which differ in the constants of their normalisation only.
"""

from functools import partial
from typing import Any, Callable, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    average_pool,
    batch_norm,
    block,
    concat,
    conv,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scope,
)

norm_keras = partial(batch_norm, epsilon=1.001e-5, momentum=0.99, running_variance="population")


@block
def dense_layer(x: Tensor, growth: int, norm: Callable[..., Tensor]) -> Tensor:
    """Adds `growth` channels to those it sees."""
    y = conv(relu(norm(x)), 4 * growth, 1)
    y = conv(relu(norm(y)), growth, 3)
    return concat(x, y)


@block
def transition(x: Tensor, norm: Callable[..., Tensor]) -> Tensor:
    return average_pool(conv(relu(norm(x)), x.channels // 2, 1), 2)


TORCHVISION: models.Names = (
    ("(conv|batch_norm)1", "features.(conv|norm)0"),
    ("stage{s}.dense_layer{b}.(conv|batch_norm){n}", "features.denseblock{s}.denselayer{b}.(conv|norm){n}"),
    ("stage{s}.transition1.(conv|batch_norm)1", "features.transition{s}.(conv|norm)"),
    ("(batch_norm2|linear1)", "(features.norm5|classifier)"))
KERAS: models.Names = (
    ("(conv|batch_norm)1", "conv1_(conv|bn)"),
    ("stage{s}.dense_layer{b}.conv{n}", "conv{s+1}_block{b}_{n}_conv"),
    ("stage{s}.dense_layer{b}.batch_norm{n}", "conv{s+1}_block{b}_{n-1}_bn"),
    ("stage{s}.transition1.(conv|batch_norm)1", "pool{s+1}_(conv|bn)"),
    ("(batch_norm2|linear1)", "(bn|predictions)"))

FACTS: Any = {
    "source": "arXiv 1608.06993",
    "optimizer": SGD(learning_rate=3e-3),  # the paper's 0.1 for 256 images, scaled to a batch of 8
    "reduced": {"blocks": (2, 2), "growth": 4, "stem": 8, "shape": (3, 32, 32)},
    "names": {"torchvision": TORCHVISION, "timm": TORCHVISION, "keras.applications": KERAS},
}


B121, B169 = (6, 12, 24, 16), (6, 12, 32, 32)  # table 1: layers of each stage


@models.model("densenet169_keras", arguments={"blocks": B169, "norm": norm_keras}, **FACTS)
@models.model("densenet121_keras", arguments={"blocks": B121, "norm": norm_keras}, **FACTS)
@models.model("densenet169", arguments={"blocks": B169}, **FACTS)
@models.model("densenet121", arguments={"blocks": B121}, **FACTS)
def densenet(image: Tensor, classes: int, blocks: Tuple[int, ...], growth: int = 32, stem: int = 64,
             norm: Callable[..., Tensor] = batch_norm) -> Tensor:
    """`blocks` dense layers per stage, with a transition between stages."""
    x = relu(norm(conv(image, stem, 7, stride=2)))
    x = max_pool(x, 3, stride=2, padding=1)
    for number, count in enumerate(blocks, start=1):
        with scope("stage{}".format(number)):
            for _ in range(count):
                x = dense_layer(x, growth, norm)
            if number < len(blocks):
                x = transition(x, norm)
    return linear(global_average_pool(relu(norm(x))), classes)
