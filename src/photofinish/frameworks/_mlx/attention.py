"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._common.text import call
from photofinish.frameworks._mlx.use import Rules, Use


def _attention(use: Use) -> Native:
    masked = ", seen={3}" if len(use.specs) == 4 else ""
    causal = ", causal=True" if use.layer.causal else ""
    return Native("attention({0}, {1}, {2}, %d%s%s)" % (use.layer.heads, masked, causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda use: Native(
        "{self}(%s)" % slots(len(use.specs)), call("NormedAttention", use.spec.size("C"))),
}

LOWERED = {layers.AdditiveAttention: "a module of MLX operations: mlx.nn has no additive attention"}
LIMITS = {layers.Attention: "mx.fast.scaled_dot_product_attention, which on the CPU is made of several operations"}

HELPERS = {
    "attention": '''\
def attention(query, key, value, heads, seen=None, causal=False):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at."""
    query, key, value = (
        x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3) for x in (query, key, value))
    mask = mx.tri(query.shape[2], key.shape[2], dtype=mx.bool_) if causal else None
    if seen is not None:
        mask = seen[:, None, None] if mask is None else seen[:, None, None] & mask
    y = mx.fast.scaled_dot_product_attention(query, key, value, scale=query.shape[3] ** -0.5, mask=mask)
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)
''',
    "NormedAttention": '''\
class NormedAttention(nn.Module):
    """Bahdanau attention whose vector has a length of its own; `seen` is true at the keys that may be looked at."""

    def __init__(self, features):
        super().__init__()
        self.weight = mx.random.normal((features,))
        self.scale = mx.ones(1)
        self.bias = mx.zeros(features)

    def __call__(self, query, key, value, seen=None):
        vector = self.scale * self.weight / mx.linalg.norm(self.weight)
        scores = mx.tanh(query[:, :, None] + (key + self.bias)[:, None]) @ vector
        if seen is not None:
            scores = mx.where(seen[:, None], scores, -mx.inf)
        return mx.softmax(scores, axis=2) @ value
''',
}
