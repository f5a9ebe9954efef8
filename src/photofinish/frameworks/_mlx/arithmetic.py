"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.moving import moving
from photofinish.frameworks._mlx.use import Rules

RULES: Rules = dict(moving("mx"))
RULES[layers.ChannelScale] = lambda use: Native(
    "{0} * {self}", "mx.full((%d,), %r)" % (use.spec.size("C"), float(use.layer.initial)))

LOWERED = {layers.ChannelScale: "a parameter and a product"}
