"""LSTM language models of the Penn Treebank: Zaremba et al. 2014, "Recurrent Neural Network Regularization"
(arXiv 1409.2329), in the three sizes of TensorFlow's PTB tutorial.

Two layers, untied words, dropout before, between and behind them. With one bias each, as in the paper, TensorFlow and
Keras; the variants called double_bias have PyTorch's and cuDNN's two. The state starts at zero in each batch; the
original carries it from one batch to the next. Its loss adds up the positions, ours is their mean, so that the same
rate of 1 moves the weights a 20th or 35th as far; and it clips gradients to a norm of 5 or 10. Labels are drawn apart
from words.
"""

from photofinish import models
from photofinish.graph import Tensor
from photofinish.layers import SoftmaxCrossEntropy
from photofinish.optimizers import SGD
from photofinish.vocabulary import dropout, embedding, linear, lstm

SIZES = {"small": (20, 200, 0.0), "medium": (35, 650, 0.5), "large": (35, 1500, 0.65)}  # steps, features, dropout


def lstm_lm(words: Tensor, features: int, drop: float, double_bias: bool, vocabulary: int = 10_000) -> Tensor:
    """Logits (T, vocabulary) of the next word at each position."""
    def dropped(x: Tensor) -> Tensor:
        return dropout(x, drop) if drop else x

    x = dropped(embedding(words, vocabulary, features))
    for _ in range(2):
        x = dropped(lstm(x, features, double_bias=double_bias))
    return linear(x, vocabulary)


for size, (steps, features, drop) in SIZES.items():
    for double_bias in (False, True):
        models.model(
            "lstm_lm_{}{}".format(size, "_double_bias" if double_bias else ""), inputs=models.words(steps, "words"),
            arguments={"features": features, "drop": drop, "double_bias": double_bias}, classes=None,
            objective=SoftmaxCrossEntropy(), task="language modelling", unit="tokens", unit_axis="T", batch=20,
            optimizer=SGD(learning_rate=1.0, momentum=0.0), source="arXiv 1409.2329",
            reduced={"vocabulary": 60, "features": 16, "shape": (6,)})(lstm_lm)
