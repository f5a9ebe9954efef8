"""Normalisations."""

from photofinish import layers
from photofinish.frameworks._keras.use import Rules

RULES: Rules = {
    layers.BatchNorm: lambda use: [use.keras(
        "BatchNormalization", momentum=use.layer.momentum, epsilon=use.layer.epsilon,
        center=None if use.layer.center else False, scale=None if use.layer.scale else False)],
}
