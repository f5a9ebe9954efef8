"""Gated recurrent layers, and loops over time."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._flax.use import Functions, Rules, Use, always, made


def _module(use: Use, kind: str) -> Native:
    cell = made(kind, use.spec.size("C"), use.layer.features)
    return Native("{self}({0})", "Recurrent(%s)" % ", ".join([cell] * (2 if use.layer.bidirectional else 1)))


def _function(use: Use, kind: str) -> str:
    return "both_ways(%s, {p}, {0})" % kind if use.layer.bidirectional else '%s({p}["ahead"], {0})' % kind


RULES: Rules = {
    layers.LSTM: lambda use: _module(use, "DoubleBiasLSTMCell" if use.layer.double_bias else "nnx.OptimizedLSTMCell"),
    layers.GRU: lambda use: _module(use, "DoubleBiasGRUCell" if use.layer.reset_after else "ResetBeforeGRUCell"),
    layers.Scan: always("{self}({0}, {1})"),  # a class of its own, which `source` writes
}

FUNCTIONS: Functions = {
    layers.LSTM: lambda use: _function(use, "lstm"),
    layers.GRU: lambda use: _function(use, "gru" if use.layer.reset_after else "reset_before_gru"),
    layers.Scan: lambda use: "{unit}({p}, {0}, {1})",  # a function of its own, which `plain` writes
}

LIMITS = {
    layers.LSTM: "nnx.OptimizedLSTMCell in jax.lax.scan; two biases are a subclass of it",
    layers.GRU: "in jax.lax.scan, a subclass of nnx.GRUCell, which has fewer biases; a cell of its own where the reset "
                "gate comes before the product",
}

HELPERS = {
    "Recurrent": '''\
class Recurrent(nnx.Module):
    """Runs a cell along a sequence (batch, steps, features), from zeros, and another backward if there is one."""

    def __init__(self, ahead, back=None):
        self.ahead, self.back = ahead, back

    def __call__(self, x):
        y = self.run(self.ahead, x)
        return y if self.back is None else jnp.concatenate((y, self.run(self.back, x, reverse=True)), axis=2)

    def run(self, cell, x, reverse=False):
        start = jnp.zeros((x.shape[0], cell.hidden_features), x.dtype)
        carry = (start, start) if isinstance(cell, nnx.OptimizedLSTMCell) else start
        _, y = jax.lax.scan(lambda carry, x: cell(carry, x), carry, x.swapaxes(0, 1), reverse=reverse)
        return y.swapaxes(0, 1)
''',
    "DoubleBiasLSTMCell": '''\
class DoubleBiasLSTMCell(nnx.OptimizedLSTMCell):
    """With the two biases of PyTorch and cuDNN."""

    def __init__(self, in_features, hidden_features, rngs):
        super().__init__(in_features, hidden_features, rngs=rngs)
        self.dense_i = nnx.Linear(in_features, 4 * hidden_features, rngs=rngs)
''',
    "DoubleBiasGRUCell": '''\
class DoubleBiasGRUCell(nnx.GRUCell):
    """With the two biases of PyTorch and cuDNN."""

    def __init__(self, in_features, hidden_features, rngs):
        super().__init__(in_features, hidden_features, rngs=rngs)
        self.dense_h = nnx.Linear(hidden_features, 3 * hidden_features, rngs=rngs)
''',
    "ResetBeforeGRUCell": '''\
class ResetBeforeGRUCell(nnx.Module):
    """A GRU cell whose reset gate multiplies the state before its product, as in Cho et al. 2014; nnx.GRUCell's
    multiplies the product. Gates in the order reset, update, hidden."""

    def __init__(self, in_features, hidden_features, rngs):
        self.hidden_features = hidden_features
        self.dense_i = nnx.Linear(in_features, 3 * hidden_features, rngs=rngs)
        self.dense_h = nnx.Linear(hidden_features, 3 * hidden_features, use_bias=False, rngs=rngs)

    def __call__(self, h, x):
        driven, size = self.dense_i(x), 2 * self.hidden_features
        gate_kernel, new_kernel = jnp.split(self.dense_h.kernel[...], [size], axis=1)
        reset, update = jnp.split(jax.nn.sigmoid(driven[:, :size] + h @ gate_kernel), 2, axis=1)
        h = update * h + (1 - update) * jnp.tanh(driven[:, size:] + (reset * h) @ new_kernel)
        return h, h
''',
}

PLAIN_HELPERS = {
    "both_ways": '''\
def both_ways(layer, p, x):
    """What a recurrent layer makes of a sequence, beside what another makes of it backward."""
    return jnp.concatenate((layer(p["ahead"], x), layer(p["back"], x, reverse=True)), axis=2)
''',
    "lstm": '''\
def lstm(p, x, reverse=False):
    """Along a sequence (batch, steps, features), from zeros; gates in the order input, forget, cell, output."""
    def step(carry, driven):
        c, h = carry
        enter, forget, new, leave = jnp.split(driven + linear(p["dense_h"], h), 4, axis=1)
        c = jax.nn.sigmoid(forget) * c + jax.nn.sigmoid(enter) * jnp.tanh(new)
        h = jax.nn.sigmoid(leave) * jnp.tanh(c)
        return (c, h), h

    start = jnp.zeros((x.shape[0], p["dense_h"]["kernel"].shape[0]), x.dtype)
    _, y = jax.lax.scan(step, (start, start), linear(p["dense_i"], x.swapaxes(0, 1)), reverse=reverse)
    return y.swapaxes(0, 1)
''',
    "gru": '''\
def gru(p, x, reverse=False):
    """Along a sequence (batch, steps, features), from zeros; gates in the order reset, update, hidden. The reset gate
    multiplies the product with the state."""
    def step(h, driven):
        share = linear(p["dense_h"], h)
        size = 2 * h.shape[1]
        reset, update = jnp.split(jax.nn.sigmoid(driven[:, :size] + share[:, :size]), 2, axis=1)
        h = update * h + (1 - update) * jnp.tanh(driven[:, size:] + reset * share[:, size:])
        return h, h

    start = jnp.zeros((x.shape[0], p["dense_h"]["kernel"].shape[0]), x.dtype)
    _, y = jax.lax.scan(step, start, linear(p["dense_i"], x.swapaxes(0, 1)), reverse=reverse)
    return y.swapaxes(0, 1)
''',
    "reset_before_gru": '''\
def reset_before_gru(p, x, reverse=False):
    """As gru, but the reset gate multiplies the state before its product (Cho et al. 2014)."""
    size = 2 * p["dense_h"]["kernel"].shape[0]
    gate_kernel, new_kernel = jnp.split(p["dense_h"]["kernel"], [size], axis=1)

    def step(h, driven):
        reset, update = jnp.split(jax.nn.sigmoid(driven[:, :size] + h @ gate_kernel), 2, axis=1)
        h = update * h + (1 - update) * jnp.tanh(driven[:, size:] + (reset * h) @ new_kernel)
        return h, h

    start = jnp.zeros((x.shape[0], size // 2), x.dtype)
    _, y = jax.lax.scan(step, start, linear(p["dense_i"], x.swapaxes(0, 1)), reverse=reverse)
    return y.swapaxes(0, 1)
''',
}
