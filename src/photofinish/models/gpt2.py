"""GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", with OpenAI's code as its source.

gpt2_small is the network of 124 million parameters: normalised before each sublayer (pre-norm), one product for query,
key and value, GELU by tanh, the output tied to the words' table. Dropout is on the sum of embeddings and on each
sublayer's result, as in the source; attention probabilities, which the source drops too, are not dropped.

It is trained, and run over whole sequences. Generation token by token with a cache is later work.
"""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    attention,
    block,
    dropout,
    embedding,
    gelu,
    layer_norm,
    learned_positions,
    linear,
    scope,
    slice_axis,
)

POSITIONS = 1024
DROP = 0.1
GAIN = 0.02  # of all weights in the source; here of the tables


def attend(x: Tensor, heads: int, causal: bool = False) -> Tensor:
    """Self-attention whose query, key and value are one product."""
    width = x.channels
    projected = linear(x, 3 * width, name="query_key_value")
    query, key, value = (slice_axis(projected, part * width, (part + 1) * width, name=name)
                         for part, name in enumerate(("query", "key", "value")))
    return linear(attention(query, key, value, heads, causal=causal), width, name="output")


@block
def layer(x: Tensor, heads: int) -> Tensor:
    with scope("attention"):
        y = attend(layer_norm(x), heads, causal=True)
    x = x + dropout(y, DROP)
    with scope("feed_forward"):
        y = linear(gelu(linear(layer_norm(x), 4 * x.channels), "tanh"), x.channels)
    return x + dropout(y, DROP)


@models.model(inputs=models.words(128, "words"), classes=None, task="language modelling", unit="tokens", unit_axis="T",
       source="Radford et al. 2019; github.com/openai/gpt-2",
       optimizer=Adam(3e-5),  # GPT's 2.5e-4 for 64 sequences (Radford et al. 2018), scaled to a batch of 8
       reduced={"vocabulary": 64, "layers": 2, "width": 24, "heads": 2, "shape": (7,)})
def gpt2_small(words: Tensor, vocabulary: int = 50_257, layers: int = 12, width: int = 768, heads: int = 12) -> Tensor:
    """The default input is 128 words of the 1,024 that its positions reach."""
    x = embedding(words, vocabulary, width, name="table", gain=GAIN)
    x = dropout(learned_positions(x, POSITIONS, GAIN), DROP)
    for _ in range(layers):
        x = layer(x, heads)
    return linear(layer_norm(x), vocabulary, bias=False, weight="table.weight", name="prediction")
