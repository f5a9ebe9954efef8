"""GNMT v2: NVIDIA's PyTorch version (DeepLearningExamples) of Wu et al. 2016, "Google's Neural Machine Translation
System" (arXiv 1609.08144): four LSTM layers read a sentence, four write its translation.

As there: one table of words for both languages, a bidirectional first encoder layer, sums from the third layer on,
dropout in front of every LSTM, and normed Bahdanau attention, computed from the first decoder layer and fed to every
further one. What is masked in the source takes no part in the attention, and the target's id 0 (padding) does not count
in the loss; synthetic masks, ids and labels are drawn apart. Recurrent layers run over all positions. The original
packs the sentences for the first one, never trains the row of padding, clips gradients to a norm of 5, starts the
scale of the attention at 1/sqrt(1024) where this one starts at 1 (and other weights between -0.1 and 0.1), and takes
the loss per sentence where this one takes the mean of the tokens. Tokens are the source's positions; NVIDIA counts
source and target without padding.
"""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import SoftmaxCrossEntropy
from photofinish.optimizers import Adam
from photofinish.vocabulary import additive_attention, concat, dropout, embedding, linear, lstm, scope

PADDING = 0
DROP = 0.2


def layer(x: Tensor, features: int, bidirectional: bool = False) -> Tensor:
    return lstm(dropout(x, DROP), features, bidirectional, double_bias=True)


def encoder(x: Tensor, features: int, layers: int) -> Tensor:
    x = layer(x, features, bidirectional=True)
    x = layer(x, features)
    for _ in range(layers - 2):
        x = x + layer(x, features)
    return x


def decoder(x: Tensor, memory: Tensor, mask: Tensor, features: int, layers: int) -> Tensor:
    x = layer(x, features)
    with scope("attention"):
        query, key = (linear(each, features, bias=False, name=name) for each, name in ((x, "query"), (memory, "key")))
        context = additive_attention(query, key, memory, mask)
    x = layer(concat(x, context), features)
    for _ in range(layers - 2):
        x = x + layer(concat(x, context), features)
    return x


@models.model(inputs=models.words(50, "source", "target", mask="source_mask"), classes=None,
       objective=SoftmaxCrossEntropy(label_smoothing=0.1, ignore=PADDING), task="translation",
       unit="tokens", unit_axis="T", source="arXiv 1609.08144",
       optimizer=Adam(learning_rate=1.6e-5),  # NVIDIA's 0.002 for 1024 sentences, scaled to a batch of 8
       reduced={"vocabulary": 60, "features": 16, "layers": 3, "shape": (6,)})
def gnmt_v2(source: Tensor, target: Tensor, source_mask: Tensor, vocabulary: int = 32_320, features: int = 1024,
            layers: int = 4) -> Tensor:
    """Logits (T, vocabulary) of the next word at each position of the target, from as many of the source."""
    with scope("encoder"):
        memory = encoder(embedding(source, vocabulary, features, name="words"), features, layers)
    with scope("decoder"):
        x = embedding(target, vocabulary, features, weight="encoder.words.weight", name="words")
        x = decoder(x, memory, source_mask, features, layers)
    return linear(x, vocabulary, name="classifier")
