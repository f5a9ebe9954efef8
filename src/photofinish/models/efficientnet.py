"""EfficientNet: Tan & Le 2019, "Rethinking Model Scaling" (arXiv 1905.11946), as torchvision builds it. timm's have
the same parameters and work, drop nothing and keep PyTorch's constants of BatchNorm. Its tf_efficientnets name their
arrays alike, so that a file does not tell them apart, but pad as Keras' and have the original constants.

keras.applications' have the same parameters and work but pad an even image only below and on the right where they
stride, and normalise the pixels inside the model.
"""

import math
from functools import partial
from typing import Any, Callable, Dict, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.models.senet import squeeze_excite
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    batch_norm,
    block,
    conv,
    dropout,
    global_average_pool,
    linear,
    scope,
    stochastic_depth,
    swish,
)

STAGES = (  # B0, table 1: expansion, kernel, stride of the first block, channels, blocks
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)

tensorflow_norm = partial(batch_norm, epsilon=1e-3, momentum=0.99)  # the constants of the original code
SCALES: Dict[str, Dict[str, Any]] = {  # torchvision's: image sizes, arguments; B5 to B7 keep the original constants
    "b0": {"resized": 256, "size": 224, "width": 1.0, "depth": 1.0, "drop": 0.2},
    "b1": {"resized": 256, "size": 240, "width": 1.0, "depth": 1.1, "drop": 0.2},
    "b2": {"resized": 288, "size": 288, "width": 1.1, "depth": 1.2, "drop": 0.3},
    "b3": {"resized": 320, "size": 300, "width": 1.2, "depth": 1.4, "drop": 0.3},
    "b4": {"resized": 384, "size": 380, "width": 1.4, "depth": 1.8, "drop": 0.4},
    "b5": {"resized": 456, "size": 456, "width": 1.6, "depth": 2.2, "drop": 0.4, "norm": tensorflow_norm},
    "b6": {"resized": 528, "size": 528, "width": 1.8, "depth": 2.6, "drop": 0.5, "norm": tensorflow_norm},
    "b7": {"resized": 600, "size": 600, "width": 2.0, "depth": 3.1, "drop": 0.5, "norm": tensorflow_norm},
}


def round_channels(channels: float) -> int:
    """The nearest multiple of 8 that loses at most a tenth."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


@block
def mobile_block(x: Tensor, expansion: int, kernel: int, stride: int, channels: int, drop: float,
                 norm: Callable[..., Tensor]) -> Tensor:
    y, wide = x, expansion * x.channels
    if expansion > 1:
        y = swish(norm(conv(y, wide, 1)))
    y = swish(norm(conv(y, wide, kernel, stride, groups=wide)))
    y = squeeze_excite(y, max(1, x.channels // 4), swish)
    y = norm(conv(y, channels, 1))
    return stochastic_depth(y, drop) + x if stride == 1 and x.channels == channels else y


def efficientnet(image: Tensor, classes: int, width: float, depth: float, drop: float,
                 stages: Tuple[Tuple[int, int, int, int, int], ...] = STAGES, stem: int = 32,
                 norm: Callable[..., Tensor] = batch_norm) -> Tensor:
    """`width` and `depth` scale the channels and the blocks of each stage of B0."""
    counts = [math.ceil(depth * blocks) for _, _, _, _, blocks in stages]
    done = 0
    x = swish(norm(conv(image, round_channels(width * stem), 3, stride=2)))
    for number, (expansion, kernel, stride, channels, _) in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            for position in range(counts[number - 1]):
                x = mobile_block(x, expansion, kernel, 1 if position else stride, round_channels(width * channels),
                                 drop=0.2 * done / sum(counts),  # the deeper, the likelier to be dropped
                                 norm=norm)
                done += 1
    x = swish(norm(conv(x, 4 * x.channels, 1)))
    return linear(dropout(global_average_pool(x), drop), classes)


TORCHVISION: models.Names = (
    ("(conv|batch_norm)1", "features.0.(0|1)"),
    ("stage1.*{b}.(conv|batch_norm)1", "features.1.{b-1}.block.0.(0|1)"),
    ("stage1.*{b}.(conv|batch_norm)2", "features.1.{b-1}.block.2.(0|1)"),
    ("stage1.*{b}.squeeze_excite1.conv{n}", "features.1.{b-1}.block.1.fc{n}"),
    ("stage{s}.*{b}.(conv|batch_norm)3", "features.{s}.{b-1}.block.3.(0|1)"),
    ("stage{s}.*{b}.(conv|batch_norm){n}", "features.{s}.{b-1}.block.{n-1}.(0|1)"),
    ("stage{s}.*{b}.squeeze_excite1.conv{n}", "features.{s}.{b-1}.block.2.fc{n}"),
    ("(conv|batch_norm)2", "features.8.(0|1)"),
    ("linear1", "classifier.1"))
TIMM: models.Names = (
    ("(conv|batch_norm)1", "(conv_stem|bn1)"),
    ("stage1.*{b}.(conv1|conv2)", "blocks.0.{b-1}.(conv_dw|conv_pw)"),
    ("stage{s}.*{b}.(conv1|conv2|conv3)", "blocks.{s-1}.{b-1}.(conv_pw|conv_dw|conv_pwl)"),
    ("stage{s}.*{b}.batch_norm{n}", "blocks.{s-1}.{b-1}.bn{n}"),
    ("stage{s}.*{b}.squeeze_excite1.(conv1|conv2)", "blocks.{s-1}.{b-1}.se.(conv_reduce|conv_expand)"),
    ("(conv|batch_norm)2", "(conv_head|bn2)"),
    ("linear1", "classifier"))
NAMES = {"torchvision": TORCHVISION, "timm": TIMM}
NAMES_TENSORFLOW = {"torchvision": TORCHVISION}  # timm's B5 to B7 have PyTorch's epsilon, and so other outputs

for _name, _scale in SCALES.items():
    models.model(
        "efficientnet_" + _name, inputs=models.image(3, _scale["size"], _scale["size"]), source="arXiv 1905.11946",
        optimizer=SGD(learning_rate=5e-4),  # the paper's 0.256 of RMSProp for 4096 images, scaled to 8
        names=NAMES_TENSORFLOW if "norm" in _scale else NAMES,
        arguments={key: value for key, value in _scale.items() if key not in ("resized", "size")},
        preparation=models.Preparation(_scale["size"] / _scale["resized"], resample="bicubic"),
        reduced={"width": 1.0, "depth": 1.0, "stem": 8, "shape": (3, 32, 32),
                 "stages": ((1, 3, 1, 8, 2), (6, 3, 2, 8, 2), (6, 5, 2, 16, 2))})(efficientnet)
