"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, call
from photofinish.frameworks._common.scopes import slots


def _attention(layer: layers.Attention, *specs: layers.Spec) -> Native:
    masked = ", mask={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("multi_head_attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


RULES: Rules = {
    layers.Attention: _attention,
    layers.AdditiveAttention: lambda layer, *specs: Native(
        "{self}(%s)" % slots(len(specs)), call("NormedAttention", specs[0].size("C"))),
}

LOWERED = {
    layers.Attention: "two batched products and a softmax: Chainer has no attention",
    layers.AdditiveAttention: "a link of Chainer's functions: Chainer has no additive attention",
}

HELPERS = {
    "multi_head_attention": '''\
def multi_head_attention(query, key, value, heads, mask=None, causal=False):
    """Attention of projected sequences (batch, positions, channels); `mask` is true at the keys that may be seen."""
    batch, positions = query.shape[:2]
    query, key, value = (F.transpose(F.reshape(x, (batch, x.shape[1], heads, -1)), (0, 2, 1, 3))
                         for x in (query, key, value))
    scores = F.matmul(query * query.shape[3] ** -0.5, key, transb=True)
    seen = np.ones(scores.shape, bool)
    if mask is not None:
        seen &= mask[:, None, None]
    if causal:
        seen &= np.tril(np.ones(seen.shape[2:], bool))
    if not seen.all():
        scores = F.where(seen, scores, np.full(scores.shape, -1e30, scores.dtype))
    y = F.matmul(F.softmax(scores, axis=3), value)
    return F.reshape(F.transpose(y, (0, 2, 1, 3)), (batch, positions, -1))
''',
    "NormedAttention": '''\
class NormedAttention(chainer.Link):
    """Bahdanau attention whose vector has a length of its own; `mask` is true at the keys that may be seen."""

    def __init__(self, features):
        super().__init__()
        with self.init_scope():
            self.weight = chainer.Parameter(chainer.initializers.Normal(1.0), (features,))
            self.scale = chainer.Parameter(1.0, (1,))
            self.bias = chainer.Parameter(0.0, (features,))

    def forward(self, query, key, value, mask=None):
        length = F.sqrt(F.sum(self.weight * self.weight))
        vector = self.weight * F.broadcast_to(self.scale / F.reshape(length, (1,)), self.weight.shape)
        key = F.bias(key, self.bias, axis=2)
        shape = (len(query), query.shape[1]) + key.shape[1:]
        felt = F.tanh(F.broadcast_to(query[:, :, None], shape) + F.broadcast_to(key[:, None], shape))
        scores = F.reshape(F.linear(felt, F.reshape(vector, (1, -1)), n_batch_axes=3), shape[:3])
        if mask is not None:
            seen = np.broadcast_to(mask[:, None], scores.shape)
            scores = F.where(seen, scores, np.full(scores.shape, -1e30, scores.dtype))
        return F.matmul(F.softmax(scores, axis=2), value)
''',
}
