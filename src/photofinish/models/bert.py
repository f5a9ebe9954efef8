"""BERT: Devlin et al. 2018, "Pre-training of Deep Bidirectional Transformers" (arXiv 1810.04805), uncased.

bert_base and bert_large are the encoder with its pooler, as transformers' BertModel: (pooled, sequence). Nobody trains
them without a head; so that they can be raced in training all the same, their loss takes the pooled values themselves
for logits, which adds no parameter. To train something take

  *_classification   a class of the whole, from the pooled vector (fine-tuning)
  *_mlm              masked words and next sentence, as the paper trains it: the decoder is tied to the words' table,
                     every position is predicted, as in transformers, and the masked ones count (their labels; -100
                     elsewhere); Google's code first gathers these, at most 20 of 128, and predicts no others

Dropout is on the sum of embeddings and on each sublayer's result, as in the source; attention probabilities, which the
source drops too, are not dropped. GELU is exact, as in transformers. Weight decay is left out; Adam corrects its bias
and adds 1e-8, where Google's does not and adds 1e-6. Words, segments, masks and labels are drawn apart: labels may lie
behind a sentence's end, and no word is replaced by a mask.
"""

from typing import Any, Tuple

from photofinish import models
from photofinish.graph import Tensor, loss
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.models.transformer import attend
from photofinish.optimizers import Adam
from photofinish.vocabulary import (
    block,
    dropout,
    embedding,
    gelu,
    layer_norm,
    learned_positions,
    linear,
    scope,
    select,
    tanh,
)

VOCABULARY = 30_522
POSITIONS = 512
EPSILON = 1e-12
DROP = 0.1
GAIN = 0.02  # of all weights in the source; here of the tables
UNMASKED = -100
TABLE = "embeddings.words.weight"


@block
def layer(x: Tensor, mask: Tensor, heads: int, hidden: int) -> Tensor:
    with scope("attention"):
        y = attend(x, x, heads, mask)
    x = layer_norm(x + dropout(y, DROP), EPSILON)
    y = linear(gelu(linear(x, hidden)), x.channels)
    return layer_norm(x + dropout(y, DROP), EPSILON)


def encode(words: Tensor, segments: Tensor, mask: Tensor, vocabulary: int, layers: int, width: int,
           heads: int) -> Tuple[Tensor, Tensor]:
    """The pooled vector and the sequence."""
    with scope("embeddings"):
        x = embedding(words, vocabulary, width, name="words", gain=GAIN)
        x = x + embedding(segments, 2, width, name="segments", gain=GAIN)
        x = learned_positions(x, POSITIONS, GAIN)
        x = dropout(layer_norm(x, EPSILON), DROP)
    for _ in range(layers):
        x = layer(x, mask, heads, 4 * width)
    return tanh(linear(select(x, 0), width, name="pooler")), x


ENCODER: models.Names = (
    ("embeddings.(words|segments)", "embeddings.(word_embeddings|token_type_embeddings)"),
    ("embeddings.(learned_positions|layer_norm)1", "embeddings.(position_embeddings|LayerNorm)"),
    ("layer{n}.attention.(query|key|value)", "encoder.layer.{n-1}.attention.self.(query|key|value)"),
    ("layer{n}.(attention.output|layer_norm1)", "encoder.layer.{n-1}.attention.output.(dense|LayerNorm)"),
    ("layer{n}.linear1", "encoder.layer.{n-1}.intermediate.dense"),
    ("layer{n}.(linear|layer_norm)2", "encoder.layer.{n-1}.output.(dense|LayerNorm)"),
    ("pooler", "pooler.dense"))
INSIDE: models.Names = tuple((pattern, "bert." + name) for pattern, name in ENCODER)  # of a model with heads
ENCODING = {"transformers": (*ENCODER, ("", "cls.*"))}
CLASSIFICATION = {"transformers": (*INSIDE, ("head", "classifier"))}
MLM = {"transformers": (
    *INSIDE,
    ("masked_words.(linear|layer_norm)1", "cls.predictions.transform.(dense|LayerNorm)"),
    ("masked_words.decoder.bias", "cls.predictions.bias"),
    ("next_sentence", "cls.seq_relationship"))}

FACTS: Any = {
    "inputs": models.words(128, "words", "segments", mask="mask"),
    "unit": "tokens",
    "unit_axis": "T",
    "source": "arXiv 1810.04805",
    "reduced": {"vocabulary": 64, "layers": 2, "width": 32, "heads": 2, "shape": (7,)},
}
LARGE: Any = {"layers": 24, "width": 1024, "heads": 16}
TUNING: Any = {"classes": 2, "optimizer": Adam(5e-6)}  # the paper's 2e-5 for 32 sequences, scaled to a batch of 8
PRETRAINING: Any = {"classes": None, "optimizer": Adam(3e-6)}  # its 1e-4 for 256 sequences


@models.model("bert_large", arguments=LARGE, task="encoding", names=ENCODING, **PRETRAINING, **FACTS)
@models.model("bert_base", task="encoding", names=ENCODING, **PRETRAINING, **FACTS)
def bert(words: Tensor, segments: Tensor, mask: Tensor, vocabulary: int = VOCABULARY, layers: int = 12,
         width: int = 768, heads: int = 12) -> Tuple[Tensor, Tensor]:
    return encode(words, segments, mask, vocabulary, layers, width, heads)


@models.model("bert_large_classification", arguments=LARGE, names=CLASSIFICATION, **TUNING, **FACTS)
@models.model("bert_base_classification", names=CLASSIFICATION, **TUNING, **FACTS)
def bert_classification(words: Tensor, segments: Tensor, mask: Tensor, classes: int, vocabulary: int = VOCABULARY,
                        layers: int = 12, width: int = 768, heads: int = 12) -> Tensor:
    pooled, _ = encode(words, segments, mask, vocabulary, layers, width, heads)
    return linear(dropout(pooled, DROP), classes, name="head")


@models.model("bert_large_mlm", objective=None, arguments=LARGE, task="masked language modelling", names=MLM,
              **PRETRAINING, **FACTS)
@models.model("bert_base_mlm", objective=None, task="masked language modelling", names=MLM, **PRETRAINING, **FACTS)
def bert_mlm(words: Tensor, segments: Tensor, mask: Tensor, vocabulary: int = VOCABULARY, layers: int = 12,
             width: int = 768, heads: int = 12) -> Tuple[Tensor, Tensor]:
    """Logits of the words, and of whether the second sentence follows the first."""
    pooled, x = encode(words, segments, mask, vocabulary, layers, width, heads)
    with scope("masked_words"):
        x = layer_norm(gelu(linear(x, width)), EPSILON)
        guesses = linear(x, vocabulary, weight=TABLE, name="decoder")
    follows = linear(pooled, 2, name="next_sentence")
    loss(SoftmaxCrossEntropy(ignore=UNMASKED), guesses, "masked_word", Spec("T", words.shape, "int32"))
    loss(SoftmaxCrossEntropy(), follows, "follows", Spec("", (), "int32"))
    return guesses, follows
