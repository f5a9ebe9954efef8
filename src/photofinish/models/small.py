"""The small networks of earlier benchmarks, for digits (MNIST) and CIFAR-10.

fcn5, alexnet_cifar10 and resnet56_cifar10 are those of dlbench (Shi et al. 2016, "Benchmarking State-of-the-Art Deep
Learning Software Tools", arXiv 1608.07249), read in its scripts. Where its scripts for different frameworks disagree,
each docstring says what is built here.
"""

from typing import Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    average_pool,
    batch_norm,
    block,
    concat,
    conv,
    flatten,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scale,
    scope,
    sigmoid,
    tanh,
)


@models.model(inputs=models.image(1, 32, 32), classes=10, batch=64,
       source="LeCun et al. 1998, Proceedings of the IEEE 86(11)",
       optimizer=SGD(learning_rate=1e-2),  # of TensorFlow's tutorial, for 64 images; the paper's rule is second-order
       reduced={"widths": (4, 8), "hidden": (24, 16)},
       # the paper's, of white digits on black: 28 pixels in 32, from -0.1 for the background to 1.175 for ink
       preparation=models.Preparation(1.0, (0.1 / 1.275,), (1 / 1.275,), "L", border=2))
def lenet5(image: Tensor, classes: int, widths: Tuple[int, int] = (6, 16),
           hidden: Tuple[int, int] = (120, 84)) -> Tensor:
    """LeNet-5 as it is taught: each map of the second convolution sees all of the first (in the paper a table says
    which), pools are plain means (there with a factor and a bias), and the head is linear (there radial).

    The paper's 32 pixels are kept, and a plain tanh (there 1.7159 tanh(2x/3), after the pools too); 28-pixel digits,
    MNIST's and others, are padded to them. Another network is often called so: Caffe's, with 20 and 50 maps and 500
    hidden ReLUs.
    """
    x = tanh(conv(image, widths[0], 5, padding=0, bias=True))
    x = average_pool(x, 2)
    x = tanh(conv(x, widths[1], 5, padding=0, bias=True))
    x = flatten(average_pool(x, 2))
    for features in hidden:
        x = tanh(linear(x, features))
    return linear(x, classes)


@models.model(inputs=models.image(1, 28, 28), classes=10, batch=512, source="arXiv 1608.07249",
       optimizer=SGD(learning_rate=5e-2),
       reduced={"hidden": (32, 64, 16), "shape": (1, 8, 8)},
       preparation=models.Preparation(1.0, (0.0,), (1.0,), "L"))  # dlbench's for TensorFlow: 0 to 1
def fcn5(image: Tensor, classes: int, hidden: Tuple[int, ...] = (2048, 4096, 1024)) -> Tensor:
    """FCN-5: fully connected, five layers of units counting those of input and output, with sigmoids between.

    dlbench's text says 13,707,264 parameters; its scripts build these 14,205,962.
    """
    x = flatten(image)
    for features in hidden:
        x = sigmoid(linear(x, features))
    return linear(x, classes)


@models.model(inputs=models.image(3, 32, 32), classes=10, batch=128, source="arXiv 1608.07249",
       optimizer=SGD(learning_rate=1e-2),
       reduced={"widths": (8, 8, 12)},
       # dlbench's for Torch7: the whole picture, less one mean and over one deviation of all training values
       preparation=models.Preparation(1.0, (120.707 / 255,) * 3, (64.15 / 255,) * 3))
def alexnet_cifar10(image: Tensor, classes: int, widths: Tuple[int, int, int] = (32, 32, 64)) -> Tensor:
    """AlexNet for CIFAR-10: three convolutions, from Krizhevsky's cuda-convnet ("layers-18pct", whose second pool is a
    mean, here a maximum).

    As dlbench's Torch7 script: pools without padding (85,098 parameters; its text says 85,000), the first before its
    ReLU, no local response normalisation (there commented out), and a linear head (its TensorFlow script has a ReLU
    after it).
    """
    x = conv(image, widths[0], 5, bias=True)
    x = relu(max_pool(x, 3, stride=2))
    x = relu(conv(x, widths[1], 5, bias=True))
    x = max_pool(x, 3, stride=2)
    x = relu(conv(x, widths[2], 5, bias=True))
    x = average_pool(x, 3, stride=2)
    return linear(flatten(x), classes)


def padded_identity(x: Tensor, channels: int, stride: int) -> Tensor:
    """The ResNet paper's option A: every other position, and zeros for the channels that are new."""
    if stride > 1:
        x = average_pool(x, 1, stride=stride)
    return concat(x, scale(x, 0.0)) if x.channels < channels else x


@block
def residual(x: Tensor, width: int, stride: int) -> Tensor:
    y = relu(batch_norm(conv(x, width, 3, stride)))
    y = batch_norm(conv(y, width, 3))
    return relu(y + padded_identity(x, width, stride))


@models.model(inputs=models.image(3, 32, 32), classes=10, batch=128, source="arXiv 1512.03385, section 4.2",
       optimizer=SGD(learning_rate=1e-2),  # dlbench's; the paper's is 0.1
       reduced={"blocks": 2, "width": 4, "shape": (3, 16, 16)},
       # the whole picture, as the paper; that takes off each pixel's mean, here each channel is standardised (the
       # training set's mean and deviation), as usual since and as `--data cifar10` does
       preparation=models.Preparation(1.0, (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)))
def resnet56_cifar10(image: Tensor, classes: int, blocks: int = 9, width: int = 16) -> Tensor:
    """The paper's ResNet for CIFAR-10 with n = 9: three stages of `blocks` residual blocks, shortcuts of option A.

    dlbench's scripts for TensorFlow, Torch7 and MXNet have these shortcuts (MXNet's averages 2x2 positions, as does
    TensorFlow's since June 2017) but a bias in each convolution (TensorFlow's until then), and only TensorFlow's has a
    ReLU after the sum; here the paper is followed.
    """
    x = relu(batch_norm(conv(image, width, 3)))
    for stage in range(3):
        with scope("stage{}".format(stage + 1)):
            for position in range(blocks):
                x = residual(x, width * 2 ** stage, 2 if stage > 0 and position == 0 else 1)
    return linear(global_average_pool(x), classes)
