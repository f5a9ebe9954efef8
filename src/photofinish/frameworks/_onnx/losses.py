"""Losses: an inference engine needs none."""

from photofinish import layers
from photofinish.frameworks._onnx.use import Rules

RULES: Rules = {}

ABSENT = dict.fromkeys((layers.SoftmaxCrossEntropy, layers.BinaryCrossEntropy, layers.CTC),
                       "it runs inference only, which needs no loss")
