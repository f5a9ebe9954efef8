"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._cntk.native import Native, Rules
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._common.text import call


def _attention(layer: layers.Attention, *specs: layers.Spec) -> Native:
    masked = ", mask={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda layer, *specs: Native(
        "{self}(%s)" % slots(len(specs)), call("NormedAttention", specs[0].size("C"))),
}

LOWERED = {
    layers.Attention: "two products and a softmax for each head, one by one: CNTK has no products of stacks",
    layers.AdditiveAttention: "a class of operations: C.layers.AttentionModel is of another shape",
}

HELPERS = {
    "attention": '''\
def attention(query, key, value, heads, mask=None, causal=False):
    """Attention of projected sequences; `mask` is 1 at the keys that may be looked at, else 0."""
    hidden = 0
    if mask is not None:
        hidden = (C.reshape(mask, (1, -1)) - 1) * 1e30
    if causal:
        hidden = hidden + C.constant(np.triu(np.full((query.shape[0], key.shape[0]), -1e30, np.float32), 1))
    size, width, found = query.shape[1] // heads, value.shape[1] // heads, []
    for i in range(heads):
        one, other = (C.slice(x, 1, i * size, (i + 1) * size) for x in (query, key))
        scores = C.times(one * size ** -0.5, C.transpose(other, (1, 0)))
        scores = scores if mask is None and not causal else scores + hidden
        found.append(C.times(C.softmax(scores, axis=1), C.slice(value, 1, i * width, (i + 1) * width)))
    return C.splice(*found, axis=1)
''',
    "NormedAttention": '''\
class NormedAttention:
    """Bahdanau attention whose vector has a length of its own; `mask` is 1 at the keys that may be looked at."""

    def __init__(self, features):
        self.weight = C.parameter((features,), init=C.normal(1.0))
        self.scale, self.bias = C.parameter((1,), init=1.0), C.parameter((features,), init=0.0)

    def __call__(self, query, key, value, mask=None):
        vector = self.scale * self.weight / C.sqrt(C.reduce_sum(self.weight * self.weight))
        query = C.reshape(query, (query.shape[0], 1, query.shape[1]))
        key = C.reshape(key + self.bias, (1,) + key.shape)
        scores = C.reshape(C.reduce_sum(C.tanh(query + key) * vector, axis=2), (query.shape[0], key.shape[1]))
        scores = scores if mask is None else scores + (C.reshape(mask, (1, -1)) - 1) * 1e30
        return C.times(C.softmax(scores, axis=1), value)
''',
}
