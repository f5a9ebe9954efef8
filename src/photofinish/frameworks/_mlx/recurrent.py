"""Gated recurrent layers; Scan is a class of its own, written by `source`."""

from photofinish import layers
from photofinish.frameworks._common.forward import Native
from photofinish.frameworks._common.text import call
from photofinish.frameworks._mlx.use import Rules, Use


def _recurrent(use: Use, kind: str, **options: bool) -> Native:
    made = call(kind, use.spec.size("C"), use.layer.features, **options)
    if use.layer.bidirectional:
        return Native("{self}({0})", "BothWays({0}, {0})".format(made))
    return Native("{self}({0})" + ("[0]" if kind == "nn.LSTM" else ""), made)


RULES: Rules = {
    layers.LSTM: lambda use: _recurrent(use, "DoubleBiasLSTM" if use.layer.double_bias else "nn.LSTM"),
    layers.GRU: lambda use: _recurrent(use, "GRU" if use.layer.reset_after else "ResetBeforeGRU"),
}

LOWERED = {
    layers.GRU: "a loop in Python, as mlx.nn's own is: that has fewer biases, and multiplies the product by the reset "
                "gate only",
    layers.Scan: "a Python loop over the steps",
}
LIMITS = {layers.LSTM: "two biases are a subclass of nn.LSTM, whose loop over the steps is Python, too"}

HELPERS = {
    "BothWays": '''\
class BothWays(nn.Module):
    """Runs a layer along a sequence (batch, steps, features) and another backward."""

    def __init__(self, ahead, back):
        super().__init__()
        self.ahead, self.back = ahead, back

    def __call__(self, x):
        y, z = self.ahead(x), self.back(x[:, ::-1])
        if isinstance(y, tuple):  # nn.LSTM gives its cells, too
            y, z = y[0], z[0]
        return mx.concatenate((y, z[:, ::-1]), axis=2)
''',
    "DoubleBiasLSTM": '''\
class DoubleBiasLSTM(nn.LSTM):
    """With the two biases of PyTorch and cuDNN."""

    def __init__(self, input_size, hidden_size):
        super().__init__(input_size, hidden_size)
        self.recurrent_bias = mx.zeros(4 * hidden_size)

    def __call__(self, x):
        driven = mx.addmm(self.bias + self.recurrent_bias, x, self.Wx.T)
        hidden = cell = mx.zeros((x.shape[0], self.hidden_size))
        outputs = []
        for t in range(x.shape[1]):
            enter, forget, new, leave = mx.split(driven[:, t] + hidden @ self.Wh.T, 4, axis=1)
            cell = mx.sigmoid(forget) * cell + mx.sigmoid(enter) * mx.tanh(new)
            hidden = mx.sigmoid(leave) * mx.tanh(cell)
            outputs.append(hidden)
        return mx.stack(outputs, axis=1)
''',
    "GRU": '''\
class GRU(nn.Module):
    """With the two biases of PyTorch and cuDNN. Gates in the order update, reset, hidden."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size, scale = hidden_size, hidden_size ** -0.5
        self.Wx = mx.random.uniform(-scale, scale, (3 * hidden_size, input_size))
        self.Wh = mx.random.uniform(-scale, scale, (3 * hidden_size, hidden_size))
        self.bias = mx.zeros(3 * hidden_size)
        self.recurrent_bias = mx.zeros(3 * hidden_size)

    def __call__(self, x):
        driven = mx.addmm(self.bias, x, self.Wx.T)
        hidden, size = mx.zeros((x.shape[0], self.hidden_size)), 2 * self.hidden_size
        outputs = []
        for t in range(x.shape[1]):
            share = mx.addmm(self.recurrent_bias, hidden, self.Wh.T)
            update, reset = mx.split(mx.sigmoid(driven[:, t, :size] + share[:, :size]), 2, axis=1)
            new = mx.tanh(driven[:, t, size:] + reset * share[:, size:])
            hidden = (1 - update) * new + update * hidden
            outputs.append(hidden)
        return mx.stack(outputs, axis=1)
''',
    "ResetBeforeGRU": '''\
class ResetBeforeGRU(nn.Module):
    """A GRU whose reset gate multiplies the state before its product, as in Cho et al. 2014. Gates in the order update,
    reset, hidden."""

    def __init__(self, input_size, hidden_size):
        super().__init__()
        self.hidden_size, scale = hidden_size, hidden_size ** -0.5
        self.Wx = mx.random.uniform(-scale, scale, (3 * hidden_size, input_size))
        self.Wh = mx.random.uniform(-scale, scale, (3 * hidden_size, hidden_size))
        self.bias = mx.zeros(3 * hidden_size)

    def __call__(self, x):
        driven = mx.addmm(self.bias, x, self.Wx.T)
        hidden, size = mx.zeros((x.shape[0], self.hidden_size)), 2 * self.hidden_size
        gate_weight, new_weight = self.Wh[:size].T, self.Wh[size:].T
        outputs = []
        for t in range(x.shape[1]):
            update, reset = mx.split(mx.sigmoid(driven[:, t, :size] + hidden @ gate_weight), 2, axis=1)
            new = mx.tanh(driven[:, t, size:] + (reset * hidden) @ new_weight)
            hidden = (1 - update) * new + update * hidden
            outputs.append(hidden)
        return mx.stack(outputs, axis=1)
''',
}
