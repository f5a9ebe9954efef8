"""Xception: Chollet 2016, "Deep Learning with Depthwise Separable Convolutions" (arXiv 1610.02357), as timm's
legacy_xception.

timm pads one pixel on every side of a max-pool; keras.applications' has the same parameters and work, but pads an even
image only below and on the right, and its normalisation has other constants (epsilon 1e-3, momentum 0.99).
"""

from typing import Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, block, conv, global_average_pool, linear, max_pool, relu, scope


@block
def separable(x: Tensor, channels: int) -> Tensor:
    """A depthwise convolution, then a pointwise one, with nothing in between."""
    x = conv(x, x.channels, 3, groups=x.channels)
    return batch_norm(conv(x, channels, 1))


@block
def residual(x: Tensor, widths: Tuple[int, ...], stride: int = 1, activate: bool = True) -> Tensor:
    """Separable convolutions of these widths, each after a ReLU (the first only to `activate`)."""
    y = x
    for position, channels in enumerate(widths):
        y = separable(relu(y) if position or activate else y, channels)
    if stride > 1:
        y = max_pool(y, 3, stride=stride, padding=1)
        with scope("projection"):
            x = batch_norm(conv(x, widths[-1], 1, stride))
    return y + x


TIMM: models.Names = (
    ("(conv|batch_norm){n}", "(conv|bn){n}"),
    ("residual1.(separable1|separable2).conv1", "block1.rep.(0|3).conv1"),  # block1 begins without a ReLU
    ("residual1.(separable1|separable2).conv2", "block1.rep.(0|3).pointwise"),
    ("residual1.(separable1|separable2).batch_norm1", "block1.rep.(1|4)"),
    ("residual{b}.(separable1|separable2|separable3).conv1", "block{b}.rep.(1|4|7).conv1"),
    ("residual{b}.(separable1|separable2|separable3).conv2", "block{b}.rep.(1|4|7).pointwise"),
    ("residual{b}.(separable1|separable2|separable3).batch_norm1", "block{b}.rep.(2|5|8)"),
    ("residual{b}.projection.(conv|batch_norm)1", "block{b}.(skip|skipbn)"),
    ("separable{n}.(conv1|conv2|batch_norm1)", "(conv{n+2}.conv1|conv{n+2}.pointwise|bn{n+2})"),
    ("linear1", "fc"))


@models.model(inputs=models.image(3, 299, 299), source="arXiv 1610.02357", names={"timm": TIMM},
       optimizer=SGD(learning_rate=4e-3),  # the paper's 0.045 for a batch it does not state, taken for 96 images
       reduced={"stem": (8, 8), "entry": (12, 16), "middle": 1, "exits": (24, 24, 32), "shape": (3, 39, 39)},
       preparation=models.timm_inception(0.8975))
def xception(image: Tensor, classes: int, stem: Tuple[int, int] = (32, 64), entry: Tuple[int, ...] = (128, 256, 728),
             middle: int = 8, exits: Tuple[int, int, int] = (1024, 1536, 2048)) -> Tensor:
    """Figure 5: the entry flow, `middle` times the middle flow, and the exit flow."""
    x = relu(batch_norm(conv(image, stem[0], 3, stride=2, padding=0)))
    x = relu(batch_norm(conv(x, stem[1], 3, padding=0)))
    for number, channels in enumerate(entry):
        x = residual(x, (channels, channels), stride=2, activate=number > 0)
    for _ in range(middle):
        x = residual(x, (x.channels,) * 3)
    x = residual(x, (x.channels, exits[0]), stride=2)
    x = relu(separable(x, exits[1]))
    x = relu(separable(x, exits[2]))
    return linear(global_average_pool(x), classes)
