"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._gluon.native import Native, Rules, call


def _attention(layer: layers.Attention, *specs: layers.Spec) -> Native:
    causal = specs[0].size("T") if layer.causal else None
    return Native("{self}(%s)" % slots(len(specs)), call("MultiHeadAttention", layer.heads, causal=causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda layer, *specs: Native(
        "{self}(%s)" % slots(len(specs)), call("NormedAttention", specs[0].size("C"))),
}

LOWERED = {
    layers.Attention: "two batched products and a softmax, as GluonNLP writes it: MXNet's own attention is for one "
                      "interleaved projection",
    layers.AdditiveAttention: "a block of MXNet operations: MXNet has no additive attention",
}

HELPERS = {
    "MultiHeadAttention": '''\
class MultiHeadAttention(gluon.HybridBlock):
    """Attention of projected sequences (batch, positions, channels); `mask` is 1 at the keys that may be seen, 0
    elsewhere. `causal`: of that many positions, each sees itself and those before."""

    def __init__(self, heads, causal=0):
        super().__init__()
        self.heads = heads
        if causal:
            self.hidden = self.params.get_constant("hidden", np.triu(np.full((1, 1, causal, causal), -1e30), 1))

    def hybrid_forward(self, F, query, key, value, mask=None, hidden=None):
        query, key, value = (F.transpose(F.reshape(x, shape=(0, 0, self.heads, -1)), axes=(0, 2, 1, 3))
                             for x in (query, key, value))
        query, key, value = (F.reshape(x, shape=(-3, 0, 0)) for x in (F.contrib.div_sqrt_dim(query), key, value))
        scores = F.batch_dot(query, key, transpose_b=True)
        scores = F.reshape(scores, shape=(-4, -1, self.heads, 0, 0))
        if mask is not None:
            scores = F.broadcast_add(scores, 1e30 * (F.reshape(mask, shape=(0, 1, 1, -1)) - 1))
        if hidden is not None:
            scores = F.broadcast_add(scores, hidden)
        y = F.batch_dot(F.reshape(F.softmax(scores), shape=(-3, 0, 0)), value)
        y = F.transpose(F.reshape(y, shape=(-4, -1, self.heads, 0, 0)), axes=(0, 2, 1, 3))
        return F.reshape(y, shape=(0, 0, -3))
''',
    "NormedAttention": '''\
class NormedAttention(gluon.HybridBlock):
    """Bahdanau attention whose vector has a length of its own; `mask` is 1 at the keys that may be seen, 0
    elsewhere."""

    def __init__(self, features):
        super().__init__()
        self.weight = self.params.get("weight", shape=(features,), init=mx.init.Normal())
        self.scale = self.params.get("scale", shape=(1,), init="ones")
        self.bias = self.params.get("bias", shape=(features,), init="zeros")

    def hybrid_forward(self, F, query, key, value, mask=None, weight=None, scale=None, bias=None):
        vector = F.broadcast_mul(weight, F.broadcast_div(scale, F.norm(weight)))
        key = F.broadcast_add(key, F.reshape(bias, shape=(1, 1, -1)))
        felt = F.broadcast_add(F.expand_dims(query, axis=2), F.expand_dims(key, axis=1))
        scores = F.FullyConnected(F.Activation(felt, act_type="tanh"), F.reshape(vector, shape=(1, -1)),
                                  num_hidden=1, no_bias=True, flatten=False)
        scores = F.squeeze(scores, axis=3)
        if mask is not None:
            scores = F.broadcast_add(scores, 1e30 * (F.expand_dims(mask, axis=1) - 1))
        return F.batch_dot(F.softmax(scores), value)
''',
}
