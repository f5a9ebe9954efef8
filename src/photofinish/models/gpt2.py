"""GPT-2: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", with OpenAI's code as its source.

gpt2_small is the network of 124 million parameters: normalised before each sublayer (pre-norm), one product for query,
key and value, GELU by tanh, the output tied to the words' table. Dropout is on the sum of embeddings and on each
sublayer's result, as in transformers (the code of the first GPT drops the words' table itself); attention
probabilities, which both drop too, are not dropped. Labels are drawn apart from words.

gpt2_small runs over whole sequences; gpt2_small_decode is a step of its generation, token by token with a cache.
"""

from typing import Any, Optional, Tuple

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import Spec
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    attention,
    block,
    concat,
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
GAIN = 0.02  # of all weights in the source but the positions' (0.01); here of both tables

Cache = Tuple[Tensor, Tensor]  # keys and values "TC" of the positions so far, of one layer


def attend(x: Tensor, heads: int, causal: bool = False, past: Optional[Cache] = None) -> Tuple[Tensor, Cache]:
    """Self-attention whose query, key and value are one product, to the positions in the cache too; returns the cache
    with the new positions behind."""
    width = x.channels
    projected = linear(x, 3 * width, name="query_key_value")
    query, key, value = (slice_axis(projected, part * width, (part + 1) * width, name=name)
                         for part, name in enumerate(("query", "key", "value")))
    if past is not None:
        key, value = concat(past[0], key, axis="T", name="keys"), concat(past[1], value, axis="T", name="values")
    return linear(attention(query, key, value, heads, causal=causal), width, name="output"), (key, value)


@block
def layer(x: Tensor, heads: int, past: Optional[Cache] = None) -> Tuple[Tensor, Cache]:
    with scope("attention"):
        y, cache = attend(layer_norm(x), heads, causal=past is None, past=past)
    x = x + dropout(y, DROP)
    with scope("feed_forward"):
        y = linear(gelu(linear(layer_norm(x), 4 * x.channels), "tanh"), x.channels)
    return x + dropout(y, DROP), cache


NAMES: models.Names = (
    ("(table|learned_positions1)", "(wte|wpe)"),
    ("layer{n}.(attention|feed_forward).layer_norm1", "h.{n-1}.(ln_1|ln_2)"),
    ("layer{n}.attention.(query_key_value|output)", "h.{n-1}.attn.(c_attn|c_proj)^T"),
    ("layer{n}.feed_forward.linear(1|2)", "h.{n-1}.mlp.(c_fc|c_proj)^T"),
    ("layer_norm1", "ln_f"),
    ("", "*attn.bias"))  # the mask that its first files hold

FACTS: Any = {"names": {"transformers": NAMES}, "classes": None, "task": "language modelling", "unit": "tokens",
              "source": "Radford et al. 2019; github.com/openai/gpt-2",
              # GPT's 2.5e-4 for 64 sequences (Radford et al. 2018), scaled to a batch of 8
              "optimizer": Adam(3e-5)}
SMALL: Any = {"vocabulary": 64, "layers": 2, "width": 24, "heads": 2}


@models.model(inputs=models.words(128, "words"), unit_axis="T", reduced=dict(SMALL, shape=(7,)), **FACTS)
def gpt2_small(words: Tensor, vocabulary: int = 50_257, layers: int = 12, width: int = 768, heads: int = 12) -> Tensor:
    """The default input is 128 words of the 1,024 that its positions reach."""
    x = embedding(words, vocabulary, width, name="table", gain=GAIN)
    x = dropout(learned_positions(x, POSITIONS, GAIN), DROP)
    for _ in range(layers):
        x, _ = layer(x, heads)
    return linear(layer_norm(x), vocabulary, bias=False, weight="table.weight", name="prediction")


def decoding(past: int, layers: int = 12, width: int = 768) -> Any:
    """The input specs of a step of generation after `past` positions."""
    one = Spec("T", (1,), "int32")
    caches = [("{}{}".format(kind, i), Spec("TC", (past, width)))
              for i in range(1, layers + 1) for kind in ("keys", "values")]
    return (*caches, ("word", one), ("position", one))


@models.model(inputs=decoding(127), reduced=dict(SMALL, inputs=decoding(6, 2, 24)), **FACTS)
def gpt2_small_decode(*inputs: Tensor, vocabulary: int = 50_257, layers: int = 12, width: int = 768,
                      heads: int = 12) -> Tuple[Tensor, ...]:
    """One word of generation after 127 others (--input 511x768: after 511), whose keys and values are in the cache.

    Weights and their names are gpt2_small's. The outputs are the prediction and each layer's cache, one position
    longer: what the next step takes. Synthetic caches are normal values, the position any.
    """
    *past, word, position = inputs
    x = embedding(word, vocabulary, width, name="table", gain=GAIN)
    x = dropout(x + embedding(position, POSITIONS, width, name="learned_positions1", gain=GAIN), DROP)
    caches = []
    for keys, values in zip(past[::2], past[1::2]):
        x, grown = layer(x, heads, (keys, values))
        caches += grown
    prediction = linear(layer_norm(x), vocabulary, bias=False, weight="table.weight", name="prediction")
    return (prediction, *caches)
