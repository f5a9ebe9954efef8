"""The smallest model with everything a race touches: a convolution, a BatchNorm, a linear layer. One without BatchNorm,
one of words, and one so steep that usual learning rates are too large for it."""

from photofinish.models import image, model, words
from photofinish.optimizers import SGD
from photofinish.vocabulary import batch_norm, conv, embedding, flatten, global_average_pool, linear, relu


@model("tiny", inputs=image(3, 6, 6), classes=4)
def tiny(x, classes):  # type: ignore[no-untyped-def]
    return linear(global_average_pool(relu(batch_norm(conv(x, 4, 3)))), classes)


@model("tiny_plain", inputs=image(3, 6, 6), classes=4)
def tiny_plain(x, classes):  # type: ignore[no-untyped-def]
    return linear(global_average_pool(relu(conv(x, 4, 3))), classes)


@model("tiny_language", inputs=words(4, "words"), classes=None, task="language modelling", unit="tokens", unit_axis="T",
       optimizer=SGD(learning_rate=1.0, momentum=0.0))
def tiny_language(words, vocabulary=8):  # type: ignore[no-untyped-def]
    return linear(embedding(words, vocabulary, 8), vocabulary)


@model("tiny_steep", inputs=image(1, 4, 4), classes=4)
def tiny_steep(x, classes):  # type: ignore[no-untyped-def]
    x = flatten(x)
    for _ in range(14):
        x = x + relu(linear(x, 16))
    return linear(x, classes)
