"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._mindspore.native import Native, Rules, call
from photofinish.layers import Spec


def _attention(layer: layers.Attention, *specs: Spec) -> Native:
    masked = ", mask={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("multi_head_attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


def _additive_attention(layer: layers.AdditiveAttention, *specs: Spec) -> Native:
    return Native("{self}(%s)" % slots(len(specs)), call("NormedAttention", specs[0].size("C")))


RULES: Rules = {layers.Attention: _attention, layers.AdditiveAttention: _additive_attention}

LOWERED = {
    layers.Attention: "two products of stacks of matrices and a softmax: MindSpore's fused attention is for Ascend",
    layers.AdditiveAttention: "a cell of MindSpore's operations: it has no additive attention",
}

HELPERS = {
    "multi_head_attention": '''\
def multi_head_attention(query, key, value, heads, mask=None, causal=False):
    """Attention of projected sequences (batch, positions, channels); `mask` is true at the keys that may be seen."""
    query, key, value = split_heads(query, heads), split_heads(key, heads), split_heads(value, heads)
    scores = ops.matmul(query * query.shape[3] ** -0.5, ops.transpose(key, (0, 1, 3, 2)))
    if mask is not None:
        scores = ops.masked_fill(scores, ops.logical_not(mask)[:, None, None], -1e30)
    if causal:
        earlier = ops.tril(ops.ones(scores.shape[2:], ms.float32)) > 0
        scores = ops.masked_fill(scores, ops.logical_not(earlier), -1e30)
    y = ops.transpose(ops.matmul(ops.softmax(scores, -1), value), (0, 2, 1, 3))
    return ops.reshape(y, (y.shape[0], y.shape[1], -1))
''',
    "split_heads": '''\
def split_heads(x, heads):
    x = ops.reshape(x, (x.shape[0], x.shape[1], heads, -1))
    return ops.transpose(x, (0, 2, 1, 3))
''',
    "NormedAttention": '''\
class NormedAttention(nn.Cell):
    """Bahdanau attention whose vector has a length of its own; `mask` is true at the keys that may be seen."""

    def __init__(self, features):
        super().__init__()
        self.weight = Parameter(initializer("normal", [features]), "weight")
        self.scale = Parameter(initializer("ones", [1]), "scale")
        self.bias = Parameter(initializer("zeros", [features]), "bias")

    def construct(self, query, key, value, mask=None):
        vector = self.scale * self.weight / ops.sqrt(ops.sum(self.weight * self.weight))
        felt = tanh(ops.expand_dims(query, 2) + ops.expand_dims(key + self.bias, 1))
        scores = ops.sum(felt * vector, -1)
        if mask is not None:
            scores = ops.masked_fill(scores, ops.expand_dims(ops.logical_not(mask), 1), -1e30)
        return ops.bmm(ops.softmax(scores, -1), value)
''',
}
