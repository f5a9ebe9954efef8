"""MobileNetV2: Sandler et al. 2018, "Inverted Residuals and Linear Bottlenecks" (arXiv 1801.04381), as torchvision."""

from typing import Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, block, conv, dropout, global_average_pool, linear, relu6, scope

STAGES = (  # table 2: expansion, channels, blocks, stride of the first block
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


@block
def inverted_residual(x: Tensor, expansion: int, channels: int, stride: int) -> Tensor:
    y, wide = x, expansion * x.channels
    if expansion > 1:
        y = relu6(batch_norm(conv(y, wide, 1)))
    y = relu6(batch_norm(conv(y, wide, 3, stride, groups=wide)))
    y = batch_norm(conv(y, channels, 1))
    return x + y if stride == 1 and x.channels == channels else y


@models.model(source="arXiv 1801.04381",
       optimizer=SGD(learning_rate=4e-3),  # the paper's 0.045 for 96 images, scaled to a batch of 8
       reduced={"stages": ((1, 8, 1, 1), (6, 12, 2, 2), (6, 16, 1, 1)), "stem": 8, "head": 32,
                "shape": (3, 32, 32)})
def mobilenet_v2(image: Tensor, classes: int, stages: Tuple[Tuple[int, int, int, int], ...] = STAGES,
                 stem: int = 32, head: int = 1280) -> Tensor:
    x = relu6(batch_norm(conv(image, stem, 3, stride=2)))
    for number, (expansion, channels, count, stride) in enumerate(stages, start=1):
        with scope("stage{}".format(number)):
            for position in range(count):
                x = inverted_residual(x, expansion, channels, 1 if position else stride)
    x = relu6(batch_norm(conv(x, head, 1)))
    return linear(dropout(global_average_pool(x), 0.2), classes)
