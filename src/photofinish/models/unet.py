"""U-Net: Ronneberger et al. 2015, "U-Net: Convolutional Networks for Biomedical Image Segmentation" (arXiv 1505.04597),
as its figure 1: 3x3 convolutions without padding, so that 572 pixels give 388 and what is carried over is cropped.

The loss is the mean of the cross entropy over pixels; the paper weighs pixels between touching cells more. It trains
on one image at a time, with a momentum of 0.99, and names no learning rate. It drops out "at the end of the
contracting path": here as the authors' released network, half of the last two levels. That one differs otherwise, by
a ReLU after each up-convolution and 128 channels in the last.
"""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import block, concat, conv, conv_transpose, dropout, max_pool, pad, relu, scope

LEVELS = 5


def double_conv(x: Tensor, channels: int) -> Tensor:
    x = relu(conv(x, channels, 3, padding=0, bias=True))
    return relu(conv(x, channels, 3, padding=0, bias=True))


@block
def up(x: Tensor, carried: Tensor, channels: int) -> Tensor:
    """Doubles the image and puts it beside the middle of the one carried over."""
    x = conv_transpose(x, channels, 2, stride=2, bias=True)
    down, across = (before - now for before, now in zip(carried.shape[1:], x.shape[1:]))
    carried = pad(carried, (-(down // 2), -(across // 2), down // 2 - down, across // 2 - across))
    return double_conv(concat(carried, x), channels)


@models.model(inputs=models.image(1, 572, 572), classes=2, task="segmentation", batch=1, source="arXiv 1505.04597",
       optimizer=SGD(learning_rate=1e-3, momentum=0.99),  # goes as far as 1e-2 with a momentum of 0.9
       reduced={"width": 2, "shape": (1, 188, 188)})  # the smallest image that leaves anything
def unet(image: Tensor, classes: int, width: int = 64) -> Tensor:
    """A class for each pixel; `width` is the number of channels at the top, doubled at each level below."""
    x, carried = image, []
    for level in range(LEVELS):
        with scope("down{}".format(level + 1)):
            if level:
                carried.append(x)
                x = max_pool(x, 2)
            x = double_conv(x, width * 2 ** level)
            if level >= LEVELS - 2:
                x = dropout(x, 0.5)
    for level in reversed(range(LEVELS - 1)):
        x = up(x, carried[level], width * 2 ** level)
    return conv(x, classes, 1, bias=True)
