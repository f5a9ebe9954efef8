"""Elementwise functions and random layers."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._flax.use import Functions, Rules, Use, always, module


def _clip(use: Use) -> Native:
    if (use.layer.low, use.layer.high) == (0, 6):
        return Native("jax.nn.relu6({0})")
    return Native("clip({0}, %r, %r)" % (use.layer.low, use.layer.high))


def _elu(use: Use) -> Native:
    return Native("jax.nn.elu({0}%s)" % ("" if use.layer.alpha == 1 else ", %r" % use.layer.alpha))


RULES: Rules = {
    layers.Relu: always("jax.nn.relu({0})"),
    layers.Clip: _clip,
    layers.Sigmoid: always("jax.nn.sigmoid({0})"),
    layers.Tanh: always("jnp.tanh({0})"),
    layers.Swish: always("jax.nn.silu({0})"),
    layers.LeakyRelu: lambda use: Native("jax.nn.leaky_relu({0}, %r)" % use.layer.alpha),
    layers.Elu: _elu,
    layers.Gelu: lambda use: Native("jax.nn.gelu({0}, approximate=%r)" % (use.layer.approximate == "tanh")),
    layers.Dropout: lambda use: module("nnx.Dropout", use.layer.rate),
    layers.StochasticDepth: lambda use: module(
        "nnx.Dropout", use.layer.rate, broadcast_dims=tuple(range(1, 1 + len(use.axes)))),
}

FUNCTIONS: Functions = {
    layers.Dropout: lambda use: "dropout({keys}, {0}, %r)" % use.layer.rate,
    layers.StochasticDepth: lambda use: "dropout({keys}, {0}, %r, samples=True)" % use.layer.rate,
}

LIMITS = {layers.Clip: "between bounds other than 0 and 6, jnp.clip and jnp.where: at the bounds jnp.clip shares the "
                       "gradient"}

HELPERS = {
    "clip": '''\
def clip(x, low, high):
    """As jnp.clip, but no gradient flows at the bounds themselves."""
    return jnp.where((x > low) & (x < high), x, jax.lax.stop_gradient(jnp.clip(x, low, high)))
''',
}

PLAIN_HELPERS = {
    "dropout": '''\
def dropout(keys, x, rate, samples=False):
    """Drops values, or whole samples, in training."""
    if keys is None or rate == 0:
        return x
    kept = jax.random.bernoulli(next(keys), 1 - rate, (x.shape[0],) + (1,) * (x.ndim - 1) if samples else x.shape)
    return jnp.where(kept, x / (1 - rate), 0)
''',
}
