"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._keras.use import Printed, Rules, Use, call


def _attention(use: Use) -> Printed:
    made = call("DotProductAttention", use.layer.heads, causal=use.layer.causal or None, name=use.name)
    return ["{}({})".format(made, ", ".join("{{{}}}".format(i) for i in range(len(use.specs))))]


RULES: Rules = {layers.Attention: _attention}

LOWERED = {layers.Attention: "keras.ops.dot_product_attention, which on TensorFlow is einsum, softmax and einsum"}

HELPERS = {
    "DotProductAttention": '''
class DotProductAttention(layers.Layer):
    """Attention of projected sequences, heads side by side; `seen` is true at the keys that may be looked at."""

    def __init__(self, heads, causal=False, **options):
        super().__init__(**options)
        self.heads, self.causal = heads, causal

    def call(self, query, key, value, seen=None):
        q, k, v = (ops.reshape(x, (-1, x.shape[1], self.heads, x.shape[2] // self.heads)) for x in (query, key, value))
        scale = np.float64(q.shape[3]) ** -0.5  # left to itself Keras rounds it to float32, in float64 too
        mask = None if seen is None else seen[:, None, None]
        y = ops.dot_product_attention(q, k, v, mask=mask, scale=scale, is_causal=self.causal)
        return ops.reshape(y, (-1, query.shape[1], value.shape[2]))
''',
}
