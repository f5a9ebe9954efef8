"""Sums, products, and layers that only move values."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.moving import moving
from photofinish.frameworks._flax.use import Functions, Rules

RULES: Rules = dict(moving("jnp"))
RULES[layers.ChannelScale] = lambda use: Native(
    "{0} * {self}[...]", "nnx.Param(jnp.full(%d, %r))" % (use.spec.size("C"), float(use.layer.initial)))

FUNCTIONS: Functions = {layers.ChannelScale: lambda use: "{0} * {p}"}

LOWERED = {layers.ChannelScale: "a parameter and a product"}
