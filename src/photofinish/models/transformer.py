"""Transformer: Vaswani et al. 2017, "Attention Is All You Need" (arXiv 1706.03762): translation, encoder to decoder.

As the paper has it: the sum is normalised after each sublayer (post-norm, no final normalisation), positions are
sines, words are scaled by the root of the width, and one table of 37,000 pieces serves both languages and the output.
The projections of attention have biases, as PyTorch's; the paper's are plain matrices. What is masked in the source
takes no part, and the target's id 0 (padding) does not count in the loss; synthetic masks, ids and labels are drawn
apart. Dropout is on the words and on each sublayer's result, as in the paper; tensor2tensor drops attention
probabilities and hidden units too. Tokens are the source's positions; NVIDIA counts source and target without padding.
"""

from typing import Any, Optional

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import SoftmaxCrossEntropy
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    attention,
    block,
    dropout,
    embedding,
    layer_norm,
    linear,
    relu,
    scale,
    scope,
    sinusoidal_positions,
)

PADDING = 0


def attend(x: Tensor, memory: Tensor, heads: int, mask: Optional[Tensor] = None, causal: bool = False) -> Tensor:
    """What each position of x takes from the memory; four projections as wide as x."""
    query = linear(x, x.channels, name="query")
    key = linear(memory, x.channels, name="key")
    value = linear(memory, x.channels, name="value")
    return linear(attention(query, key, value, heads, mask, causal), x.channels, name="output")


def add_norm(x: Tensor, y: Tensor, drop: float) -> Tensor:
    return layer_norm(x + dropout(y, drop))


def feed_forward(x: Tensor, hidden: int) -> Tensor:
    return linear(relu(linear(x, hidden)), x.channels)


@block
def encoder_layer(x: Tensor, mask: Tensor, heads: int, hidden: int, drop: float) -> Tensor:
    with scope("attention"):
        y = attend(x, x, heads, mask)
    x = add_norm(x, y, drop)
    return add_norm(x, feed_forward(x, hidden), drop)


@block
def decoder_layer(x: Tensor, memory: Tensor, mask: Tensor, heads: int, hidden: int, drop: float) -> Tensor:
    with scope("attention"):
        y = attend(x, x, heads, causal=True)
    x = add_norm(x, y, drop)
    with scope("memory_attention"):
        y = attend(x, memory, heads, mask)
    x = add_norm(x, y, drop)
    return add_norm(x, feed_forward(x, hidden), drop)


FACTS: Any = {
    "inputs": models.words(64, "source", "target", mask="source_mask"),
    "classes": None,
    "objective": SoftmaxCrossEntropy(label_smoothing=0.1, ignore=PADDING),
    "task": "translation",
    "unit": "tokens",
    "unit_axis": "T",
    "source": "arXiv 1706.03762",
    "reduced": {"vocabulary": 64, "layers": 2, "width": 32, "heads": 2, "hidden": 64, "shape": (7,)},
}


# The rates at the end of the paper's warm-up, for 25,000 tokens of the target, scaled to a batch of 8 x 64.
@models.model("transformer_big", arguments={"width": 1024, "heads": 16, "hidden": 4096, "drop": 0.3},
              optimizer=Adam(1e-5, 0.9, 0.98, 1e-9), **FACTS)
@models.model("transformer_base", optimizer=Adam(1.4e-5, 0.9, 0.98, 1e-9), **FACTS)
def transformer(source: Tensor, target: Tensor, source_mask: Tensor, vocabulary: int = 37_000, layers: int = 6,
                width: int = 512, heads: int = 8, hidden: int = 2048, drop: float = 0.1) -> Tensor:
    """The target is what the decoder is fed: the translation, one position to the right."""
    gain = width ** -0.5
    with scope("encoder"):
        x = embedding(source, vocabulary, width, name="words", gain=gain)
        x = dropout(sinusoidal_positions(scale(x, width ** 0.5)), drop)
        for _ in range(layers):
            x = encoder_layer(x, source_mask, heads, hidden, drop)
    with scope("decoder"):
        y = embedding(target, vocabulary, width, weight="encoder.words.weight", name="words", gain=gain)
        y = dropout(sinusoidal_positions(scale(y, width ** 0.5)), drop)
        for _ in range(layers):
            y = decoder_layer(y, x, source_mask, heads, hidden, drop)
    return linear(y, vocabulary, bias=False, weight="encoder.words.weight", name="prediction")
