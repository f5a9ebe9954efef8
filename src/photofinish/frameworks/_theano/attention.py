"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._common.text import call
from photofinish.frameworks._theano.native import Native, Rules


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
    layers.Attention: "two products of stacks of matrices and a softmax: Theano ships none",
    layers.AdditiveAttention: "a class of operations: Theano ships none",
}

HELPERS = {
    "attention": '''\
def attention(query, key, value, heads, seen=None, causal=False):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at."""
    samples, queries, keys = query.shape[0], query.shape[1], key.shape[1]
    query, key, value = (apart(x, heads) for x in (query, key, value))
    scores = T.batched_dot(query * T.cast(query.shape[2], "float32") ** -0.5, key.dimshuffle(0, 2, 1))
    if seen is not None:
        scores = scores.reshape((samples, heads, queries, keys))
        scores = T.switch(seen[:, None, None, :], scores, np.float32(-1e30)).reshape((samples * heads, queries, keys))
    if causal:
        scores = T.switch(T.arange(queries)[:, None] >= T.arange(keys), scores, np.float32(-1e30))
    found = T.batched_dot(softmax(scores), value).reshape((samples, heads, queries, value.shape[2]))
    return found.dimshuffle(0, 2, 1, 3).flatten(3)
''',
    "apart": '''\
def apart(x, heads):
    """The heads of sequences one after the other: (samples * heads, steps, features of a head)."""
    samples, steps, features = x.shape
    x = x.reshape((samples, steps, heads, features // heads)).dimshuffle(0, 2, 1, 3)
    return x.reshape((samples * heads, steps, features // heads))
''',
    "NormedAttention": '''\
class NormedAttention:
    """Bahdanau attention whose vector has a length of its own; `seen` is true at the keys that may be looked at."""

    def __init__(self, features):
        self.weight, self.scale, self.bias = drawn(features, scale=1.0), ones(1), zeros(features)

    def __call__(self, query, key, value, seen=None):
        vector = self.scale[0] * self.weight / T.sqrt(T.sum(self.weight ** 2))
        scores = T.sum(T.tanh(query[:, :, None, :] + (key + self.bias)[:, None, :, :]) * vector, axis=3)
        if seen is not None:
            scores = T.switch(seen[:, None, :], scores, np.float32(-1e30))
        return T.batched_dot(softmax(scores), value)
''',
    "softmax": '''\
def softmax(x):
    """Over the last of three axes; T.nnet.softmax takes a matrix."""
    return T.nnet.softmax(x.reshape((-1, x.shape[2]))).reshape(x.shape)
''',
}
