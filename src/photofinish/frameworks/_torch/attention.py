"""What one sequence takes from another."""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, write
from photofinish.layers import Spec


def _attention(layer: layers.Attention, *specs: Spec) -> Native:
    masked = ", mask={3}" if len(specs) == 4 else ""
    causal = ", causal=True" if layer.causal else ""
    return Native("multi_head_attention({0}, {1}, {2}, %d%s%s)" % (layer.heads, masked, causal))


def _additive_attention(layer: layers.AdditiveAttention, *specs: Spec) -> Native:
    inputs = ", ".join("{%d}" % i for i in range(len(specs)))
    return Native("{self}(%s)" % inputs, write("NormedAttention", specs[0].size("C")))


RULES: Rules = {layers.Attention: _attention, layers.AdditiveAttention: _additive_attention}

LOWERED = {layers.AdditiveAttention: "a module of PyTorch operations: PyTorch has no additive attention"}

HELPERS = {
    "NormedAttention": '''\
class NormedAttention(nn.Module):
    """Bahdanau attention whose vector has a length of its own; `mask` is true at the keys that may be seen."""

    def __init__(self, features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.scale = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, query, key, value, mask=None):
        vector = self.scale * self.weight / torch.linalg.vector_norm(self.weight)
        scores = torch.tanh(query.unsqueeze(2) + (key + self.bias).unsqueeze(1)) @ vector
        if mask is not None:
            scores = scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
        return torch.softmax(scores, 2) @ value
''',
    "multi_head_attention": '''\
def multi_head_attention(query, key, value, heads, mask=None, causal=False):
    """Attention of projected sequences (batch, positions, channels); `mask` is true at the keys that may be seen."""
    query, key, value = (x.unflatten(2, (heads, -1)).transpose(1, 2) for x in (query, key, value))
    if mask is not None:
        mask = mask[:, None, None]
        if causal:  # PyTorch takes one or the other
            mask, causal = mask & mask.new_ones(query.shape[2], key.shape[2]).tril(), False
    y = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
    return y.transpose(1, 2).flatten(2)
''',
}
