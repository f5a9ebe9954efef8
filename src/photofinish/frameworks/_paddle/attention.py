"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._common.scopes import slots
from photofinish.frameworks._paddle.native import Native, Rules, write
from photofinish.layers import Spec


def _attention(layer: layers.Attention, *specs: Spec) -> Native:
    masked = ", mask={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("multi_head_attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


def _additive_attention(layer: layers.AdditiveAttention, *specs: Spec) -> Native:
    return Native("{self}(%s)" % slots(len(specs)), write("NormedAttention", specs[0].size("C")))


RULES: Rules = {layers.Attention: _attention, layers.AdditiveAttention: _additive_attention}

LOWERED = {layers.AdditiveAttention: "a layer of Paddle operations: Paddle has no additive attention"}
LIMITS = {layers.Attention: "causal by a mask: Paddle's own way is for GPUs"}

HELPERS = {
    "NormedAttention": '''\
class NormedAttention(nn.Layer):
    """Bahdanau attention whose vector has a length of its own; `mask` is true at the keys that may be seen."""

    def __init__(self, features):
        super().__init__()
        self.weight = self.create_parameter([features])
        self.scale = self.create_parameter([1])
        self.bias = self.create_parameter([features], is_bias=True)

    def forward(self, query, key, value, mask=None):
        vector = self.scale * self.weight / paddle.norm(self.weight)
        scores = paddle.matmul(paddle.tanh(query.unsqueeze(2) + (key + self.bias).unsqueeze(1)), vector)
        if mask is not None:
            scores = paddle.where(mask.unsqueeze(1), scores, paddle.full_like(scores, float("-inf")))
        return paddle.bmm(F.softmax(scores), value)
''',
    "multi_head_attention": '''\
def multi_head_attention(query, key, value, heads, mask=None, causal=False):
    """Attention of projected sequences (batch, positions, channels); `mask` is true at the keys that may be seen."""
    query = paddle.reshape(query, (0, 0, heads, -1))
    key = paddle.reshape(key, (0, 0, heads, -1))
    value = paddle.reshape(value, (0, 0, heads, -1))
    if mask is not None:
        mask = mask.unsqueeze([1, 2])
    if causal:
        earlier = paddle.tril(paddle.ones([query.shape[1], key.shape[1]], "int32")) == 1
        mask = earlier if mask is None else paddle.logical_and(mask, earlier)
    return paddle.flatten(F.scaled_dot_product_attention(query, key, value, attn_mask=mask), 2)
''',
}
