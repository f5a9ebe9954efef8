"""A model of the zoo at a size of your own. Race it with: photofinish race examples/small_transformer.py:model

Its function takes the sizes; the rest of what a race needs to know (inputs, loss, unit) is the zoo's.
"""

from photofinish import models
from photofinish.models.gpt2 import FACTS, gpt2_small


@models.model(inputs=models.words(64, "words"), unit_axis="T", **FACTS)
def model(words, vocabulary=8000, layers=4, width=256, heads=4):
    return gpt2_small(words, vocabulary, layers, width, heads)
