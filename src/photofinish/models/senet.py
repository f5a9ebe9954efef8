"""SENet: Hu et al. 2017, "Squeeze-and-Excitation Networks" (arXiv 1709.01507): residual blocks whose result is scaled,
channel by channel, by a gate that sees all of them.

se_resnet50 is timm's seresnet50, whose blocks stride on the 3x3 convolution; se_resnet50_v1 is Cadene's se_resnet50
(timm's legacy_seresnet50 but for its dropout of 0.2), which strides on the first 1x1. se_resnext50 is timm's
seresnext50_32x4d; Cadene's counts the same, but pools after the stem without padding, from the first pixel on. senet154
is Cadene's, the network of the authors' ILSVRC 2017 entry.
"""

from typing import Any, Callable, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    batch_norm,
    block,
    conv,
    dropout,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scope,
    sigmoid,
)

REDUCTION = 16  # of the channels, in a gate


@block
def squeeze_excite(x: Tensor, squeezed: int, activation: Callable[[Tensor], Tensor] = relu) -> Tensor:
    """Scales each channel by a gate that sees all of them, through `squeezed` values."""
    y = global_average_pool(x, keep_axes=True)
    y = activation(conv(y, squeezed, 1, bias=True))
    return x * sigmoid(conv(y, x.channels, 1, bias=True))


def conv_norm(x: Tensor, channels: int, kernel: int, stride: int = 1, groups: int = 1) -> Tensor:
    return batch_norm(conv(x, channels, kernel, stride, groups=groups))


def shortcut(x: Tensor, channels: int, stride: int, kernel: int = 1) -> Tensor:
    """The identity where shapes agree, otherwise a projection."""
    if stride == 1 and x.channels == channels:
        return x
    with scope("projection"):
        return conv_norm(x, channels, kernel, stride)


@block
def bottleneck(x: Tensor, width: int, stride: int, groups: int) -> Tensor:
    """With groups ResNeXt's (Xie et al. 2016, arXiv 1611.05431), twice as wide inside: 32x4d is 32 groups, of 4
    channels where the width is 64."""
    inside = width if groups == 1 else 2 * width
    y = relu(conv_norm(x, inside, 1))
    y = relu(conv_norm(y, inside, 3, stride, groups))
    y = squeeze_excite(conv_norm(y, 4 * width, 1), 4 * width // REDUCTION)
    return relu(y + shortcut(x, 4 * width, stride))


@block
def original_bottleneck(x: Tensor, width: int, stride: int, groups: int) -> Tensor:
    y = relu(conv_norm(x, width, 1, stride))
    y = relu(conv_norm(y, width, 3, groups=groups))
    y = squeeze_excite(conv_norm(y, 4 * width, 1), 4 * width // REDUCTION)
    return relu(y + shortcut(x, 4 * width, stride))


@block
def wide_bottleneck(x: Tensor, width: int, stride: int, groups: int) -> Tensor:
    """SENet-154's: half of the channels after the first 1x1, and projections of 3x3 where the image halves."""
    y = relu(conv_norm(x, 2 * width, 1))
    y = relu(conv_norm(y, 4 * width, 3, stride, groups))
    y = squeeze_excite(conv_norm(y, 4 * width, 1), 4 * width // REDUCTION)
    return relu(y + shortcut(x, 4 * width, stride, kernel=1 if stride == 1 else 3))


BLOCKS: models.Names = (
    ("stage{s}.*{b}.(conv|batch_norm){n}", "layer{s}.{b-1}.(conv|bn){n}"),
    ("stage{s}.*{b}.projection.(conv|batch_norm)1", "layer{s}.{b-1}.downsample.(0|1)"))
TIMM: models.Names = BLOCKS + (
    ("(conv|batch_norm)1", "(conv|bn)1"),
    ("stage{s}.*{b}.squeeze_excite1.conv{n}", "layer{s}.{b-1}.se.fc{n}"),
    ("linear1", "fc"))
TIMM_LEGACY: models.Names = BLOCKS + (  # as Cadene
    ("(conv|batch_norm){n}", "layer0.(conv|bn){n}"),
    ("stage{s}.*{b}.squeeze_excite1.conv{n}", "layer{s}.{b-1}.se_module.fc{n}"),
    ("linear1", "last_linear"))

FACTS: Any = {
    "source": "arXiv 1709.01507",
    "optimizer": SGD(learning_rate=4.7e-3),  # the paper's 0.6 for 1024 images, scaled to a batch of 8
}
REDUCED = {"blocks": (2, 1), "width": 16, "shape": (3, 32, 32)}
# Pictures are prepared as Cadene's (torchvision's default), timm's as its default configurations say (1.0.31).


@models.model("senet154", arguments={"residual": wide_bottleneck, "blocks": (3, 8, 36, 3), "groups": 64, "stem": 3,
                                     "pool_padding": 0, "drop": 0.2},
              reduced=dict(REDUCED, groups=4, width=8), names={"timm": TIMM_LEGACY}, **FACTS)
@models.model("se_resnext50", arguments={"residual": bottleneck, "blocks": (3, 4, 6, 3), "groups": 32},
              reduced=dict(REDUCED, groups=4, width=12), names={"timm": TIMM},
              preparation=models.Preparation(resample="bicubic"), **FACTS)
@models.model("se_resnet50_v1", arguments={"residual": original_bottleneck, "blocks": (3, 4, 6, 3),
                                           "pool_padding": 0}, reduced=REDUCED, names={"timm": TIMM_LEGACY}, **FACTS)
@models.model("se_resnet50", arguments={"residual": bottleneck, "blocks": (3, 4, 6, 3)}, reduced=REDUCED,
              names={"timm": TIMM}, preparation=models.Preparation(0.95, resample="bicubic"), **FACTS)
def senet(image: Tensor, classes: int, residual: Callable[..., Tensor], blocks: Tuple[int, ...], width: int = 64,
          groups: int = 1, stem: int = 1, pool_padding: int = 1, drop: float = 0.0) -> Tensor:
    """`blocks` residual blocks per stage. `stem` is 1 (a 7x7 convolution) or 3 (three of 3x3, the last twice as wide).

    Without `pool_padding` the windows after the stem start at the first pixel, and the last goes over the edge.
    """
    if stem == 1:
        x = relu(conv_norm(image, width, 7, 2))
    else:
        x = relu(conv_norm(image, width, 3, 2))
        x = relu(conv_norm(x, width, 3))
        x = relu(conv_norm(x, 2 * width, 3))
    x = max_pool(x, 3, stride=2, padding=pool_padding, ceil=not pool_padding)
    for stage, count in enumerate(blocks):
        with scope("stage{}".format(stage + 1)):
            for position in range(count):
                x = residual(x, width * 2 ** stage, 2 if stage > 0 and position == 0 else 1, groups)
    x = global_average_pool(x)
    return linear(dropout(x, drop) if drop else x, classes)
