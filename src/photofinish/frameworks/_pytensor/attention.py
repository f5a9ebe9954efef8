"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._common.text import call
from photofinish.frameworks._pytensor.native import Native, Rules


def _attention(layer: layers.Attention, *specs: layers.Spec) -> Native:
    masked = ", seen={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda layer, *specs: Native(
        "{self}(%s)" % slots(len(specs)), call("NormedAttention", specs[0].size("C"))),
}

LOWERED = {
    layers.Attention: "two products of stacks of matrices and a softmax",
    layers.AdditiveAttention: "a class of operations",
}

HELPERS = {
    "attention": '''\
def attention(query, key, value, heads, seen=None, causal=False):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at."""
    query, key, value = (x.reshape((samples(x), x.type.shape[1], heads, x.type.shape[2] // heads)).transpose(0, 2, 1, 3)
                         for x in (query, key, value))
    (_, _, steps, size), (_, _, others, width) = query.type.shape, value.type.shape
    scores = pt.matmul(query * np.float32(size ** -0.5), key.transpose(0, 1, 3, 2))
    if seen is not None:
        scores = pt.switch(pt.neq(seen, 0)[:, None, None], scores, np.float32(-1e30))
    if causal:
        scores = pt.switch(np.tri(steps, others, dtype=bool), scores, np.float32(-1e30))
    y = pt.matmul(pt.special.softmax(scores, axis=3), value)
    return y.transpose(0, 2, 1, 3).reshape((samples(y), steps, heads * width))
''',
    "NormedAttention": '''\
class NormedAttention:
    """Bahdanau attention whose vector has a length of its own; `seen` is true at the keys that may be looked at."""

    def __init__(self, features):
        self.weight, self.scale, self.bias = drawn(features), ones(1), zeros(features)

    def __call__(self, query, key, value, seen=None):
        vector = self.scale * self.weight / pt.sqrt(pt.sum(self.weight ** 2))
        scores = pt.sum(pt.tanh(query[:, :, None] + (key + self.bias)[:, None]) * vector, axis=3)
        if seen is not None:
            scores = pt.switch(pt.neq(seen, 0)[:, None], scores, np.float32(-1e30))
        return pt.matmul(pt.special.softmax(scores, axis=2), value)
''',
}
