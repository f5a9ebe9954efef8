"""AlexNet: three networks go by this name.

alexnet is torchvision's: one column of Krizhevsky 2014, "One weird trick for parallelizing convolutional neural
networks" (arXiv 1404.5997), but with 256 channels in the fourth convolution where that paper has 384; it pools to 6x6
whatever the input, and drops out before each hidden layer. alexnet_2012 is that of Krizhevsky, Sutskever & Hinton
2012, "ImageNet Classification with Deep Convolutional Neural Networks" (NIPS 25): a column per GPU, which makes three
of the convolutions grouped, normalisation across channels, dropout after each hidden layer, and 227 pixels, which its
arithmetic needs where its text says 224. alexnet_2012_ungrouped joins the columns, with 57 % more work.
"""

from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    adaptive_average_pool,
    conv,
    dropout,
    flatten,
    linear,
    local_response_norm,
    max_pool,
    relu,
)

Widths = Tuple[int, int, int, int, int]

TORCHVISION: models.Names = (
    ("(conv1|conv2|conv3|conv4|conv5)", "features.(0|3|6|8|10)"),
    ("(linear1|linear2|linear3)", "classifier.(1|4|6)"))


@models.model(source="arXiv 1404.5997", names={"torchvision": TORCHVISION},
       optimizer=SGD(learning_rate=6e-4),  # the paper's 0.01 for 128 images, scaled to a batch of 8
       reduced={"widths": (8, 12, 12, 8, 8), "hidden": 32, "shape": (3, 63, 63)})
def alexnet(image: Tensor, classes: int, widths: Widths = (64, 192, 384, 256, 256), hidden: int = 4096) -> Tensor:
    x = relu(conv(image, widths[0], 11, stride=4, padding=2, bias=True))
    x = max_pool(x, 3, stride=2)
    x = relu(conv(x, widths[1], 5, bias=True))
    x = max_pool(x, 3, stride=2)
    for channels in widths[2:]:
        x = relu(conv(x, channels, 3, bias=True))
    x = max_pool(x, 3, stride=2)
    x = flatten(adaptive_average_pool(x, 6))
    x = relu(linear(dropout(x, 0.5), hidden))
    x = relu(linear(dropout(x, 0.5), hidden))
    return linear(x, classes)


def respond(x: Tensor) -> Tensor:
    """Section 3.3: k = 2, n = 5, beta = 0.75, and 1e-4 for each of the five squares."""
    return local_response_norm(relu(x), 5, alpha=5e-4, beta=0.75, bias=2.0)


FACTS: Any = {
    "source": "Krizhevsky, Sutskever & Hinton 2012, NIPS 25",
    "inputs": models.image(3, 227, 227),
    "optimizer": SGD(learning_rate=6e-4),  # the paper's 0.01 for 128 images, scaled to a batch of 8
    "reduced": {"widths": (8, 12, 12, 8, 8), "hidden": 32, "shape": (3, 67, 67)},
    "preparation": models.Preparation(227 / 256),  # the paper's 256 pixels; it divides by no deviation
}


@models.model("alexnet_2012_ungrouped", arguments={"groups": 1}, **FACTS)
@models.model("alexnet_2012", arguments={"groups": 2}, **FACTS)
def original(image: Tensor, classes: int, groups: int, widths: Widths = (96, 256, 384, 384, 256),
             hidden: int = 4096) -> Tensor:
    x = respond(conv(image, widths[0], 11, stride=4, padding=0, bias=True))
    x = max_pool(x, 3, stride=2)
    x = respond(conv(x, widths[1], 5, groups=groups, bias=True))
    x = max_pool(x, 3, stride=2)
    x = relu(conv(x, widths[2], 3, bias=True))
    x = relu(conv(x, widths[3], 3, groups=groups, bias=True))
    x = relu(conv(x, widths[4], 3, groups=groups, bias=True))
    x = flatten(max_pool(x, 3, stride=2))
    x = dropout(relu(linear(x, hidden)), 0.5)
    x = dropout(relu(linear(x, hidden)), 0.5)
    return linear(x, classes)
