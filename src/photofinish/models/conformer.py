"""Conformer: Gulati et al. 2020, "Convolution-augmented Transformer for Speech Recognition" (arXiv 2005.08100).

The encoder of the small size (S of table 1: 16 blocks 144 wide, 4 heads, convolutions over 32 frames) with a head for
CTC in the place of the paper's transducer, whose decoder is an LSTM of 320: hence fewer than its 10.3 M parameters.
Attention is over absolute sinusoidal positions, added once in front of the blocks (hence the name): the paper's
relative ones are no layer that frameworks ship. Convolutions over one frame are written as the products they are.
Mel spectrograms of 80 bins, a frame every 10 ms (100 frames make a second); two convolutions leave a quarter of them.
Every recording counts as long as its input: there is no mask.
"""

from photofinish import models
from photofinish.graph import Tensor, loss
from photofinish.layers import CTC, Spec
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    attention,
    batch_norm,
    block,
    conv,
    dropout,
    layer_norm,
    linear,
    relu,
    rows_to_sequence,
    scale,
    scope,
    sequence_conv,
    sigmoid,
    sinusoidal_positions,
    slice_axis,
    swish,
)

DROP = 0.1


def feed_forward(x: Tensor) -> Tensor:
    """Half of what a hidden layer four times as wide adds."""
    y = dropout(swish(linear(layer_norm(x), 4 * x.channels)), DROP)
    return scale(dropout(linear(y, x.channels), DROP), 0.5)


def look_around(x: Tensor, heads: int) -> Tensor:
    x = layer_norm(x)
    query, key, value = (linear(x, x.channels, name=name) for name in ("query", "key", "value"))
    return dropout(linear(attention(query, key, value, heads), x.channels, name="output"), DROP)


def convolve(x: Tensor, kernel: int) -> Tensor:
    width = x.channels
    y = linear(layer_norm(x), 2 * width)
    y = slice_axis(y, 0, width) * sigmoid(slice_axis(y, width, 2 * width))  # a gated linear unit
    y = sequence_conv(y, width, kernel, padding=((kernel - 1) // 2, kernel // 2), groups=width, bias=True)
    return dropout(linear(swish(batch_norm(y)), width), DROP)


@block
def conformer_block(x: Tensor, heads: int, kernel: int) -> Tensor:
    with scope("before"):
        x = x + feed_forward(x)
    with scope("attention"):
        x = x + look_around(x, heads)
    with scope("convolution"):
        x = x + convolve(x, kernel)
    with scope("after"):
        x = x + feed_forward(x)
    return layer_norm(x)


@models.model(inputs=(("spectrogram", Spec("CHW", (1, 400, 80))),), classes=None, objective=None,
       task="speech recognition", unit="seconds of audio", unit_axis="H", unit_size=0.01, source="arXiv 2005.08100",
       optimizer=Adam(4e-3, 0.9, 0.98, 1e-9),  # the paper's at the end of its warm-up; it names no batch
       reduced={"width": 8, "layers": 1, "pieces": 12, "shape": (1, 168, 12)})
def conformer_small_absolute(spectrogram: Tensor, width: int = 144, layers: int = 16, heads: int = 4, kernel: int = 32,
                             pieces: int = 1024) -> Tensor:
    """Logits (T, pieces), 0 the blank, and their loss against a transcript of up to T / 4 pieces of words."""
    with scope("subsampling"):
        x = relu(conv(spectrogram, width, 3, stride=2, padding=0, bias=True))
        x = relu(conv(x, width, 3, stride=2, padding=0, bias=True))
        x = linear(rows_to_sequence(x), width)
    x = dropout(sinusoidal_positions(x), DROP)
    for _ in range(layers):
        x = conformer_block(x, heads, kernel)
    logits = linear(x, pieces)
    loss(CTC(), logits, "transcript", Spec("L", (max(1, logits.spec.size("T") // 4),), "int32"))
    return logits
