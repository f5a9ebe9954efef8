"""Vision Transformer: Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words" (arXiv 2010.11929), as torchvision.

The head is one linear layer, there is no dropout (torchvision's default), and the table of positions is as long as the
image has patches: another input size is another model. Weight decay is left out.
"""

from typing import Dict

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


NAMES: Dict[str, models.Names] = {
    "torchvision": (
        ("patches", "conv_proj"),
        ("(class_token1|learned_positions1).weight", "(class_token|encoder.pos_embedding)"),
        ("layer{n}.(attention|feed_forward).layer_norm1", "encoder.layers.encoder_layer_{n-1}.ln_(1|2)"),
        ("layer{n}.attention.query_key_value.(weight|bias)",
         "encoder.layers.encoder_layer_{n-1}.self_attention.in_proj_(weight|bias)"),
        ("layer{n}.attention.output", "encoder.layers.encoder_layer_{n-1}.self_attention.out_proj"),
        ("layer{n}.feed_forward.linear(1|2)", "encoder.layers.encoder_layer_{n-1}.mlp.(0|3)"),
        ("(layer_norm1|linear1)", "(encoder.ln|heads.head)")),
    "timm": (
        ("patches", "patch_embed.proj"),
        ("(class_token1|learned_positions1).weight", "(cls_token|pos_embed)"),
        ("layer{n}.(attention|feed_forward).layer_norm1", "blocks.{n-1}.norm(1|2)"),
        ("layer{n}.attention.(query_key_value|output)", "blocks.{n-1}.attn.(qkv|proj)"),
        ("layer{n}.feed_forward.linear(1|2)", "blocks.{n-1}.mlp.fc(1|2)"),
        ("(layer_norm1|linear1)", "(norm|head)"))}


@models.model("vit_b16", names=NAMES, source="arXiv 2010.11929",
       optimizer=Adam(6e-6),  # the paper's 3e-3 for 4096 images, scaled to a batch of 8
       reduced={"layers": 2, "width": 24, "heads": 2, "shape": (3, 48, 32)})
def vit(image: Tensor, classes: int, layers: int = 12, width: int = 768, heads: int = 12, patch: int = 16) -> Tensor:
    x = image_to_sequence(conv(image, width, patch, patch, padding=0, bias=True, name="patches"))
    x = class_token(x)
    x = learned_positions(x, x.spec.size("T"))
    for _ in range(layers):
        x = layer(x, heads)
    return linear(select(layer_norm(x, EPSILON), 0), classes)
