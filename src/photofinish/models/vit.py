"""Vision Transformer: Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words" (arXiv 2010.11929), as torchvision.

The head is one linear layer, there is no dropout (torchvision's default), and the table of positions is as long as the
image has patches: another input size is another model. Weight decay is left out.
"""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.models.gpt2 import attend
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    block,
    class_token,
    conv,
    gelu,
    image_to_sequence,
    layer_norm,
    learned_positions,
    linear,
    scope,
    select,
)

EPSILON = 1e-6


@block
def layer(x: Tensor, heads: int) -> Tensor:
    with scope("attention"):
        y, _ = attend(layer_norm(x, EPSILON), heads)
        x = x + y
    with scope("feed_forward"):
        return x + linear(gelu(linear(layer_norm(x, EPSILON), 4 * x.channels)), x.channels)


@models.model("vit_b16", source="arXiv 2010.11929",
       optimizer=Adam(6e-6),  # the paper's 3e-3 for 4096 images, scaled to a batch of 8
       reduced={"layers": 2, "width": 24, "heads": 2, "shape": (3, 48, 32)})
def vit(image: Tensor, classes: int, layers: int = 12, width: int = 768, heads: int = 12, patch: int = 16) -> Tensor:
    x = image_to_sequence(conv(image, width, patch, patch, padding=0, bias=True, name="patches"))
    x = class_token(x)
    x = learned_positions(x, x.spec.size("T"))
    for _ in range(layers):
        x = layer(x, heads)
    return linear(select(layer_norm(x, EPSILON), 0), classes)
