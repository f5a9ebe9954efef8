"""RegNet: Radosavovic et al. 2020, "Designing Network Design Spaces" (arXiv 2003.13678): residual networks of grouped
convolutions whose widths four numbers settle; Y has gates of squeeze and excitation, X has none.

The four numbers of each size are the paper's (figures 15 and 16), the network torchvision's of that name.
"""

import itertools
import math
from typing import Any, Dict, Iterator, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.models.senet import squeeze_excite
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, block, conv, global_average_pool, linear, relu, scope

SIZES: Dict[str, Dict[str, Any]] = {
    "x_400mf": {"depth": 22, "start": 24, "slope": 24.48, "step": 2.54, "group": 16},
    "x_3_2gf": {"depth": 25, "start": 88, "slope": 26.31, "step": 2.25, "group": 48},
    "y_400mf": {"depth": 16, "start": 48, "slope": 27.89, "step": 2.09, "group": 8, "gated": True},
    "y_3_2gf": {"depth": 21, "start": 80, "slope": 42.63, "step": 2.66, "group": 24, "gated": True},
}


def stages(depth: int, start: int, slope: float, step: float, group: int) -> Iterator[Tuple[int, int]]:
    """(channels, blocks) of each stage, section 3.3 of the paper.

    Channels that grow along a line are moved to the nearest power of `step` times `start`; blocks of the same width
    are a stage, whose channels are then a multiple of its groups'.
    """
    powers = [round(math.log(1 + slope * position / start, step)) for position in range(depth)]
    widths = [round(start * step ** power / 8) * 8 for power in powers]
    for width, same in itertools.groupby(widths):
        shared = min(group, width)
        fitted = int(width + shared / 2) // shared * shared
        yield (fitted if fitted >= 0.9 * width else fitted + shared), len(list(same))


@block
def bottleneck(x: Tensor, channels: int, stride: int, group: int, gated: bool) -> Tensor:
    """No narrower inside than outside; a gate is a quarter as wide as what enters the block."""
    y = relu(batch_norm(conv(x, channels, 1)))
    y = relu(batch_norm(conv(y, channels, 3, stride, groups=channels // min(group, channels))))
    if gated:
        y = squeeze_excite(y, round(x.channels / 4))
    y = batch_norm(conv(y, channels, 1))
    if stride != 1 or x.channels != channels:
        with scope("projection"):
            x = batch_norm(conv(x, channels, 1, stride))
    return relu(y + x)


def regnet(image: Tensor, classes: int, depth: int, start: int, slope: float, step: float, group: int,
           gated: bool = False, stem: int = 32) -> Tensor:
    """`depth` blocks of `start + slope * position` channels, quantised by `step`, convolved in groups of `group`."""
    x = relu(batch_norm(conv(image, stem, 3, stride=2)))
    for number, (channels, blocks) in enumerate(stages(depth, start, slope, step, group), start=1):
        with scope("stage{}".format(number)):
            for position in range(blocks):
                x = bottleneck(x, channels, 1 if position else 2, group, gated)
    return linear(global_average_pool(x), classes)


TORCHVISION: models.Names = (
    ("(conv|batch_norm)1", "stem.(0|1)"),
    ("stage{s}.*{b}.projection.(conv|batch_norm)1", "trunk_output.block{s}.block{s}-{b-1}.proj.(0|1)"),
    ("stage{s}.*{b}.squeeze_excite1.conv{n}", "trunk_output.block{s}.block{s}-{b-1}.f.se.fc{n}")) + tuple(
    ("stage{s}.*{b}.(conv|batch_norm)" + str(place), "trunk_output.block{s}.block{s}-{b-1}.f." + letter + ".(0|1)")
    for place, letter in enumerate("abc", start=1)) + (
    ("linear1", "fc"),)
TIMM: models.Names = (  # x_400mf is its regnetx_004_tv; its regnetx_004 has 384 channels in the last stage, not 400
    ("(conv|batch_norm)1", "stem.(conv|bn)"),
    ("stage{s}.*{b}.(conv|batch_norm){n}", "s{s}.b{b}.conv{n}.(conv|bn)"),
    ("stage{s}.*{b}.projection.(conv|batch_norm)1", "s{s}.b{b}.downsample.(conv|bn)"),
    ("stage{s}.*{b}.squeeze_excite1.conv{n}", "s{s}.b{b}.se.fc{n}"),
    ("linear1", "head.fc"))

for _name, _numbers in SIZES.items():
    models.model("regnet_" + _name, arguments=_numbers, source="arXiv 2003.13678",
                 names={"torchvision": TORCHVISION, "timm": TIMM},
                 optimizer=SGD(learning_rate=6.25e-3),  # the paper's 0.8 for 1024 images, scaled to a batch of 8
                 reduced={"depth": 4, "start": 8, "slope": 6.0, "step": 2.0, "group": 4, "stem": 8,
                          "shape": (3, 32, 32)})(regnet)
