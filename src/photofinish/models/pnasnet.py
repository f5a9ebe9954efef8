"""PNASNet-5: Liu et al. 2017, "Progressive Neural Architecture Search" (arXiv 1712.00559).

pnasnet5_large is timm's, pnasnet5_large_cadene Cadene's (pretrained-models.pytorch). They differ as the NASNets do (see
`nasnet`): in what lies around an image that is halved, for which Cadene's net does 42,297,552 multiply-accumulates in
vain, and in its dropout before the classifier. Neither has the paper's auxiliary head or drops paths.
"""

from functools import partial
from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.models.nasnet import (
    CADENE,
    SMALL,
    TIMM,
    Adjustment,
    Source,
    Windows,
    factorized_reduction,
    projection,
    projections,
    same,
    separable,
    separables,
    shifted,
    symmetric,
    untouched,
    within,
)
from photofinish.optimizers import SGD
from photofinish.vocabulary import (
    block,
    concat,
    conv,
    dropout,
    global_average_pool,
    linear,
    max_pool,
    relu,
    scope,
)


@block
def cell(x: Tensor, previous: Tensor, channels: int, adjust: Adjustment, source: Source, stride: int = 1,
         windows: Windows = symmetric) -> Tensor:
    """Figure 1. `previous` is what the cell before took; `adjust` gives it the size and channels of this one."""
    p = adjust(previous, channels, source)
    h = projection(x, channels, source)
    convolved = partial(separable, channels=channels, source=source, stride=stride, windows=windows)

    def largest(x: Tensor) -> Tensor:
        return windows(x, 3, stride, partial(max_pool, kernel=3, stride=stride))

    pooled = largest(p)
    if pooled.channels != channels:  # in the first cell
        pooled = source.norm(conv(pooled, channels, 1))
    first = convolved(p, kernel=5) + pooled
    second = convolved(h, kernel=7) + largest(h)
    third = convolved(h, kernel=5) + convolved(h, kernel=3)
    fourth = separable(third, channels, 3, source) + largest(h)
    fifth = convolved(p, kernel=3) + (h if stride == 1 else projection(h, channels, source, stride))
    return concat(first, second, third, fourth, fifth)


SEPARABLES = separables("0_left", "1_left", "2_left", "2_right", "3_left", "4_left")
PROJECTED = projections("conv_prev_1x1", "conv_1x1", "comb_iter_4_right")
FACTORIZED: models.Names = (  # where the image has been halved since `previous`
    ("factorized_reduction1.conv{n}", "conv_prev_1x1.path_{n}.conv"),
    ("factorized_reduction1.batch_norm1", "conv_prev_1x1.final_path_bn")) + projections("conv_1x1", "comb_iter_4_right")
NAMES: models.Names = (
    ("stem.(conv|batch_norm)1", "conv_0.(conv|bn)"),
    ("stem.cell1.(conv|batch_norm)1", "cell_stem_0.comb_iter_0_right.(conv|bn)"),
    ("linear1", "last_linear")) + within((
        ("stem.cell{c}", "cell_stem_{c-1}"),
        ("stage1.cell1", "cell_0"),
        ("stage2.cell2", "cell_5"),
        ("stage3.cell2", "cell_9")), FACTORIZED + SEPARABLES) + within((
        ("stage1.cell{c}", "cell_{c-1}"),
        ("stage2.cell{c}", "cell_{c+3}"),
        ("stage3.cell{c}", "cell_{c+7}")), PROJECTED + SEPARABLES)

FACTS: Any = {
    "inputs": models.image(3, 331, 331),
    "source": "arXiv 1712.00559",
    "optimizer": SGD(learning_rate=7.5e-3),  # as NASNet-A-Large: TF-slim's 0.015 for 16 images, scaled to a batch of 8
    "reduced": dict(SMALL, stages=2, shape=(3, 27, 27)),  # the image is of odd and even size where it is at 331
    "preparation": models.timm_inception(0.911),
    "names": {"timm": NAMES},  # which are Cadene's, too
}


@models.model("pnasnet5_large_cadene", **dict(FACTS, preparation=models.MINUS_ONE_TO_ONE), arguments={
    "source": CADENE, "windows": (symmetric, symmetric, shifted, symmetric)})
@models.model("pnasnet5_large", **FACTS)
def pnasnet5(image: Tensor, classes: int, source: Source = TIMM, windows: Tuple[Windows, ...] = (same,) * 4,
             stem: int = 96, filters: int = 216, stages: int = 3, cells: int = 4, growth: int = 2) -> Tensor:
    """Two cells that halve the image, then `stages` of `cells`; the first cell of the later ones halves it too.

    `filters` are the channels within a cell of the first stage; they grow by `growth` from stage to stage, in the stem
    too.
    """
    with scope("stem"):
        x = source.norm(conv(image, stem, 3, stride=2, padding=0))
        previous, x = x, cell(x, x, filters // growth ** 2, untouched, source, 2, windows[0])
        previous, x = x, cell(x, previous, filters // growth, factorized_reduction, source, 2, windows[1])
    halved = True
    for stage in range(stages):
        with scope("stage{}".format(stage + 1)):
            for position in range(cells):
                adjust = factorized_reduction if halved else projection
                halved = stage > 0 and position == 0
                previous, x = x, cell(x, previous, filters * growth ** stage, adjust, source,
                                      *((2, windows[stage + 1]) if halved else (1, symmetric)))
    x = global_average_pool(relu(x))
    return linear(dropout(x, source.drop) if source.drop else x, classes)
