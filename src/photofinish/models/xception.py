"""Xception: Chollet 2016, "Deep Learning with Depthwise Separable Convolutions" (arXiv 1610.02357), as timm.

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


@models.model(inputs=models.image(3, 299, 299), source="arXiv 1610.02357",
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
