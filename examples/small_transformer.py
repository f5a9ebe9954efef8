"""A model of the zoo at a size of your own. Race it with: photofinish race examples/small_transformer.py:model

Its function takes the sizes; the rest of what a race needs to know (inputs, loss, unit) is the zoo's.
"""

from photofinish import models
from photofinish.models.transformer import FACTS, transformer
from photofinish.optimizers import Adam


@models.model(**{**FACTS, "inputs": models.words(32, "source", "target", mask="source_mask")}, optimizer=Adam(1e-4))
def model(source, target, source_mask, vocabulary=8000, layers=3, width=256, heads=4, hidden=1024):
    return transformer(source, target, source_mask, vocabulary, layers, width, heads, hidden)
