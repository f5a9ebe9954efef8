"""ConvNeXt: Liu et al. 2022, "A ConvNet for the 2020s" (arXiv 2201.03545), as torchvision.

The two products of a block are 1x1 convolutions here, linear layers over channels in torchvision: the same function,
parameters and work. Weight decay is left out.
"""

from typing import Dict, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    block,
    channel_scale,
    conv,
    gelu,
    global_average_pool,
    layer_norm,
    linear,
    scope,
    stochastic_depth,
)

EPSILON = 1e-6


@block
def layer(x: Tensor, drop: float) -> Tensor:
    y = conv(x, x.channels, 7, groups=x.channels, bias=True)
    y = conv(layer_norm(y, EPSILON), 4 * x.channels, 1, bias=True)
    y = conv(gelu(y), x.channels, 1, bias=True)
    return x + stochastic_depth(channel_scale(y, 1e-6), drop)


def _stage(number: int) -> models.Names:
    """torchvision counts what is between stages, too."""
    ours, theirs = "stage{}".format(number), "features.{}".format(2 * number - 1)
    return ((ours + ".(layer_norm1|conv1)", "features.{}.(0|1)".format(2 * number - 2)),
            (ours + ".layer{b}.(conv1|layer_norm1|conv2|conv3)", theirs + ".{b-1}.block.(0|2|3|5)"),
            (ours + ".layer{b}.channel_scale1.weight", theirs + ".{b-1}.layer_scale"))


NAMES: Dict[str, models.Names] = {
    "torchvision": (
        ("(conv1|layer_norm1)", "features.0.(0|1)"), *_stage(1), *_stage(2), *_stage(3), *_stage(4),
        ("(layer_norm2|linear1)", "classifier.(0|2)")),
    "timm": (
        ("(conv1|layer_norm1)", "stem.(0|1)"),
        ("stage{s}.(layer_norm1|conv1)", "stages.{s-1}.downsample.(0|1)"),
        ("stage{s}.layer{b}.(conv1|layer_norm1|conv2|conv3)",
         "stages.{s-1}.blocks.{b-1}.(conv_dw|norm|mlp.fc1|mlp.fc2)"),
        ("stage{s}.layer{b}.channel_scale1.weight", "stages.{s-1}.blocks.{b-1}.gamma"),
        ("(layer_norm2|linear1)", "head.(norm|fc)"))}


@models.model("convnext_tiny", names=NAMES, source="arXiv 2201.03545",
       optimizer=Adam(8e-6),  # the paper's 4e-3 for 4096 images, scaled to a batch of 8
       reduced={"blocks": (1, 2), "width": 16, "shape": (3, 32, 32)},
       preparation=models.Preparation(224 / 236))
def convnext(image: Tensor, classes: int, blocks: Tuple[int, ...] = (3, 3, 9, 3), width: int = 96,
             drop: float = 0.1) -> Tensor:
    """`blocks` per stage; the width doubles and the image halves from stage to stage."""
    done = 0
    x = layer_norm(conv(image, width, 4, stride=4, padding=0, bias=True), EPSILON)
    for number, count in enumerate(blocks, start=1):
        with scope("stage{}".format(number)):
            if number > 1:
                x = conv(layer_norm(x, EPSILON), 2 * x.channels, 2, stride=2, padding=0, bias=True)
            for _ in range(count):
                x = layer(x, drop * done / max(1, sum(blocks) - 1))  # the deeper, the likelier to be dropped
                done += 1
    return linear(layer_norm(global_average_pool(x), EPSILON), classes)
