"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._flax.use import Functions, Rules, Use, made


def _attention(use: Use) -> Native:
    masked = ", seen={3}" if len(use.specs) == 4 else ""
    causal = ", causal=True" if use.layer.causal else ""
    kind = "attention" if use.specs[2].size("C") == use.spec.size("C") else "unequal_attention"
    return Native("%s({0}, {1}, {2}, %d%s%s)" % (kind, use.layer.heads, masked, causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda use: Native(
        "{self}(%s)" % slots(len(use.specs)), made("NormedAttention", use.spec.size("C"))),
}

FUNCTIONS: Functions = {
    layers.AdditiveAttention: lambda use: "additive_attention({p}, %s)" % slots(len(use.specs)),
}

LOWERED = {layers.AdditiveAttention: "a module of JAX operations: neither flax nor JAX has additive attention"}
LIMITS = {layers.Attention: "jax.nn.dot_product_attention, whose softmax is in float32 even of float64; where values "
                            "are wider or narrower than keys, which it refuses, einsum, softmax and einsum"}

HELPERS = {
    "attention": '''\
def attention(query, key, value, heads, seen=None, causal=False):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at."""
    query, key, value = (x.reshape(*x.shape[:2], heads, -1) for x in (query, key, value))
    mask = None if seen is None else seen[:, None, None]
    y = jax.nn.dot_product_attention(query, key, value, mask=mask, is_causal=causal)
    return y.reshape(*y.shape[:2], -1)
''',
    "unequal_attention": '''\
def unequal_attention(query, key, value, heads, seen=None, causal=False):
    """As attention, of values that are wider or narrower than keys."""
    query, key, value = (x.reshape(*x.shape[:2], heads, -1) for x in (query, key, value))
    scores = jnp.einsum("bthc,bshc->bhts", query, key) * query.shape[3] ** -0.5
    if causal:
        scores = jnp.where(jnp.tri(*scores.shape[2:], dtype=bool), scores, -jnp.inf)
    if seen is not None:
        scores = jnp.where(seen[:, None, None], scores, -jnp.inf)
    y = jnp.einsum("bhts,bshc->bthc", jax.nn.softmax(scores), value)
    return y.reshape(*y.shape[:2], -1)
''',
    "additive_attention": '''\
def additive_attention(p, query, key, value, seen=None):
    """Bahdanau attention whose vector has a length of its own; `seen` is true at the keys that may be looked at."""
    vector = p["scale"] * p["weight"] / jnp.linalg.norm(p["weight"])
    scores = jnp.tanh(query[:, :, None] + (key + p["bias"])[:, None]) @ vector
    if seen is not None:
        scores = jnp.where(seen[:, None], scores, -jnp.inf)
    return jax.nn.softmax(scores) @ value
''',
    "NormedAttention": '''\
class NormedAttention(nnx.Module):
    """Additive attention and its parameters."""

    def __init__(self, features, rngs):
        self.weight = nnx.Param(jax.random.normal(rngs.params(), (features,)))
        self.scale = nnx.Param(jnp.ones(1))
        self.bias = nnx.Param(jnp.zeros(features))

    def __call__(self, *inputs):
        p = {"weight": self.weight[...], "scale": self.scale[...], "bias": self.bias[...]}
        return additive_attention(p, *inputs)
''',
}
