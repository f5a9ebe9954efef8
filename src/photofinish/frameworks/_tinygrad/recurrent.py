"""Gated recurrent layers; Scan is a class of its own, written by `source`."""

from photofinish import layers
from photofinish.frameworks._common.text import call
from photofinish.frameworks._tinygrad.native import Native, Rules
from photofinish.layers import Spec


def _recurrent(kind: str, layer: layers.Recurrent, spec: Spec, **options: bool) -> Native:
    made = call(kind, spec.size("C"), layer.features, **options)
    return Native("{self}({0})", "BothWays({0}, {0})".format(made) if layer.bidirectional else made)


RULES: Rules = {
    layers.LSTM: lambda layer, spec: _recurrent("LSTM", layer, spec, **({"double_bias": True} if layer.double_bias
                                                                          else {})),
    layers.GRU: lambda layer, spec: _recurrent("GRU", layer, spec, **({} if layer.reset_after
                                                                        else {"reset_after": False})),
}

LOWERED = {
    layers.LSTM: "a loop in Python, which TinyJit unrolls: tinygrad ships a cell with two biases",
    layers.GRU: "a loop in Python, which TinyJit unrolls: tinygrad ships none",
    layers.Scan: "a loop in Python, which TinyJit unrolls",
}

HELPERS = {
    "BothWays": '''\
class BothWays:
    """Runs a layer along a sequence (batch, steps, features) and another backward."""

    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def __call__(self, x):
        return self.ahead(x).cat(self.back(x.flip(1)).flip(1), dim=2)
''',
    "LSTM": '''\
class LSTM:
    """From zeros; gates in the order input, forget, cell, output."""

    def __init__(self, input_size, hidden_size, double_bias=False):
        self.hidden_size, scale = hidden_size, hidden_size ** -0.5
        self.input_weight = Tensor.uniform(4 * hidden_size, input_size, low=-scale, high=scale)
        self.recurrent_weight = Tensor.uniform(4 * hidden_size, hidden_size, low=-scale, high=scale)
        self.bias = None if double_bias else Tensor.zeros(4 * hidden_size)
        self.input_bias = Tensor.zeros(4 * hidden_size) if double_bias else None
        self.recurrent_bias = Tensor.zeros(4 * hidden_size) if double_bias else None

    def __call__(self, x):
        bias = self.bias if self.bias is not None else self.input_bias + self.recurrent_bias
        driven = x.linear(self.input_weight.transpose(), bias)
        hidden = cell = Tensor.zeros(x.shape[0], self.hidden_size)
        outputs = []
        for t in range(x.shape[1]):
            enter, forget, new, leave = (driven[:, t] + hidden @ self.recurrent_weight.transpose()).chunk(4, dim=1)
            cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
            hidden = leave.sigmoid() * cell.tanh()
            outputs.append(hidden)
        return Tensor.stack(*outputs, dim=1)
''',
    "GRU": '''\
class GRU:
    """From zeros; gates in the order update, reset, hidden. The reset gate multiplies the product (`reset_after`: two
    biases) or the state before it (one)."""

    def __init__(self, input_size, hidden_size, reset_after=True):
        self.hidden_size, self.reset_after, scale = hidden_size, reset_after, hidden_size ** -0.5
        self.input_weight = Tensor.uniform(3 * hidden_size, input_size, low=-scale, high=scale)
        self.recurrent_weight = Tensor.uniform(3 * hidden_size, hidden_size, low=-scale, high=scale)
        self.bias = None if reset_after else Tensor.zeros(3 * hidden_size)
        self.input_bias = Tensor.zeros(3 * hidden_size) if reset_after else None
        self.recurrent_bias = Tensor.zeros(3 * hidden_size) if reset_after else None

    def __call__(self, x):
        driven = x.linear(self.input_weight.transpose(), self.input_bias if self.reset_after else self.bias)
        hidden, size = Tensor.zeros(x.shape[0], self.hidden_size), 2 * self.hidden_size
        weight = self.recurrent_weight.transpose()
        outputs = []
        for t in range(x.shape[1]):
            share = hidden.linear(weight if self.reset_after else weight[:, :size], self.recurrent_bias)
            update, reset = (driven[:, t, :size] + share[:, :size]).sigmoid().chunk(2, dim=1)
            seen = reset * share[:, size:] if self.reset_after else (reset * hidden) @ weight[:, size:]
            hidden = (1 - update) * (driven[:, t, size:] + seen).tanh() + update * hidden
            outputs.append(hidden)
        return Tensor.stack(*outputs, dim=1)
''',
}
