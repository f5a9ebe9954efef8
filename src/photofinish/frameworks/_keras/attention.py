"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._keras.use import Printed, Rules, Use


def _attention(use: Use) -> Printed:
    made = call("DotProductAttention", use.layer.heads, causal=use.layer.causal or None, name=use.name)
    return ["{}({})".format(made, ", ".join("{{{}}}".format(i) for i in range(len(use.specs))))]


def _additive_attention(use: Use) -> Printed:
    inputs = ", ".join("{{{}}}".format(i) for i in range(len(use.specs)))
    return ["{}({})".format(call("NormedAttention", name=use.name), inputs)]


RULES: Rules = {layers.Attention: _attention, layers.AdditiveAttention: _additive_attention}

LOWERED = {
    layers.Attention: "keras.ops.dot_product_attention, which on TensorFlow is einsum, softmax and einsum; on JAX, "
                      "of keys and values that zeros make equally wide",
    layers.AdditiveAttention: "a layer of Keras operations: layers.AdditiveAttention has no norm and no bias",
}

_DOT_PRODUCT_ATTENTION = '''
class DotProductAttention(layers.Layer):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at.{why}"""

    def __init__(self, heads, causal=False, **options):
        super().__init__(**options)
        self.heads, self.causal = heads, causal

    def call(self, query, key, value, seen=None):
        q, k, v = (ops.reshape(x, (-1, x.shape[1], self.heads, x.shape[2] // self.heads)) for x in (query, key, value))
        scale = np.float64(q.shape[3]) ** -0.5  # left to itself Keras rounds it to float32, in float64 too
{before}\
        mask = None if seen is None else seen[:, None, None]
        y = ops.dot_product_attention(q, k, v, mask=mask, scale=scale, is_causal=self.causal){after}
        return ops.reshape(y, (-1, query.shape[1], value.shape[2]))
'''

HELPERS = {
    "NormedAttention": '''
class NormedAttention(layers.Layer):
    """Bahdanau attention whose vector has a length of its own; `seen` is true at the keys that may be looked at."""

    def build(self, query_shape, *others):
        features = query_shape[-1:]
        self.weight = self.add_weight(shape=features, name="weight")
        self.scale = self.add_weight(shape=(1,), initializer="ones", name="scale")
        self.bias = self.add_weight(shape=features, initializer="zeros", name="bias")

    def call(self, query, key, value, seen=None):
        vector = self.scale * self.weight / ops.norm(self.weight)
        scores = ops.matmul(ops.tanh(query[:, :, None] + (key + self.bias)[:, None]), vector)
        if seen is not None:
            scores = ops.where(seen[:, None], scores, -np.inf)
        return ops.matmul(ops.softmax(scores), value)
''',
    "DotProductAttention": _DOT_PRODUCT_ATTENTION.format(why="", before="", after=""),
}
ON_JAX = {"DotProductAttention": _DOT_PRODUCT_ATTENTION.format(
    why=" JAX\n    wants keys and values of one width: the narrower ones are filled up with zeros.", before='''\
        missing = v.shape[3] - k.shape[3]
        q, k, v = (ops.pad(x, ((0, 0), (0, 0), (0, 0), (0, more))) if more > 0 else x
                   for x, more in ((q, missing), (k, missing), (v, -missing)))
''', after="[..., :value.shape[2] // self.heads]")}
