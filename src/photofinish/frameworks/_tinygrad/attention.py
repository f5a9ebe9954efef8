"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._common.text import call
from photofinish.frameworks._tinygrad.native import Native, Rules
from photofinish.layers import Spec


def _attention(layer: layers.Attention, *specs: Spec) -> Native:
    masked = ", seen={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda layer, *specs: Native(
        "{self}(%s)" % slots(len(specs)), call("NormedAttention", specs[0].size("C"))),
}

LOWERED = {layers.AdditiveAttention: "a class of tinygrad operations: tinygrad has no additive attention"}
LIMITS = {layers.Attention: "Tensor.scaled_dot_product_attention, which tinygrad makes of products and a softmax"}

HELPERS = {
    "attention": '''\
def attention(query, key, value, heads, seen=None, causal=False):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at."""
    query, key, value = (
        x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2) for x in (query, key, value))
    mask = None if seen is None else seen.reshape(seen.shape[0], 1, 1, -1)
    if mask is not None and causal:  # tinygrad takes one or the other
        mask, causal = mask & Tensor.ones(query.shape[2], key.shape[2], dtype="bool").tril(), False
    return query.scaled_dot_product_attention(key, value, attn_mask=mask, is_causal=causal).transpose(1, 2).flatten(2)
''',
    "NormedAttention": '''\
class NormedAttention:
    """Bahdanau attention whose vector has a length of its own; `seen` is true at the keys that may be looked at."""

    def __init__(self, features):
        self.weight = Tensor.randn(features)
        self.scale = Tensor.ones(1)
        self.bias = Tensor.zeros(features)

    def __call__(self, query, key, value, seen=None):
        vector = self.scale * self.weight / self.weight.square().sum().sqrt()
        scores = ((query.unsqueeze(2) + (key + self.bias).unsqueeze(1)).tanh() * vector).sum(3)
        if seen is not None:
            scores = seen.unsqueeze(1).where(scores, -float("inf"))
        return scores.softmax(2) @ value
''',
}
