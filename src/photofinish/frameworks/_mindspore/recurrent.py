"""Gated recurrent layers; Scan is a class of its own, written by `source`."""

from photofinish import layers
from photofinish.frameworks._mindspore.native import Native, Rules, call, cell
from photofinish.layers import Spec


def _shipped(kind: str, layer: layers.Recurrent, spec: Spec) -> str:
    return call(kind, spec.size("C"), layer.features, batch_first=True,
                bidirectional=True if layer.bidirectional else None)


def _lstm(layer: layers.LSTM, spec: Spec) -> Native:
    made = _shipped("nn.LSTM", layer, spec)
    return Native("{self}({0})[0]", made if layer.double_bias else "without_second_bias({})".format(made))


def _gru(layer: layers.GRU, spec: Spec) -> Native:
    return cell("GRU" if layer.reset_after else "ResetBeforeGRU", spec.size("C"), layer.features,
                bidirectional=True if layer.bidirectional else None)


RULES: Rules = {layers.LSTM: _lstm, layers.GRU: _gru}

LOWERED = {
    layers.GRU: "a loop of operations, as nn.GRU is on a CPU, whose tanh is off by up to 1e-4",
    layers.Scan: "a Python loop over the steps",
}
LIMITS = {layers.LSTM: "where the layer has one bias, MindSpore's second is held at zero"}

HELPERS = {
    "without_second_bias": '''\
def without_second_bias(lstm):
    """nn.LSTM adds two biases: the second becomes zeros that nothing trains."""
    for bias in lstm.b_hh_list:
        bias.set_data(initializer("zeros", bias.shape))
        bias.requires_grad = False
    return lstm
''',
    "GRU": '''\
class GRU(nn.Cell):
    """A GRU from zeros; gates in the order update, reset, hidden."""

    biases = ("input_bias", "recurrent_bias")

    def __init__(self, input_size, hidden_size, bidirectional=False):
        super().__init__()
        self.size, self.bidirectional = hidden_size, bidirectional
        for direction in ("", "backward_") if bidirectional else ("",):
            for name, size in (("input_weight", input_size), ("recurrent_weight", hidden_size)):
                weight = initializer("XavierUniform", [3 * hidden_size, size])
                setattr(self, direction + name, Parameter(weight, direction + name))
            for name in self.biases:
                setattr(self, direction + name, Parameter(initializer("zeros", [3 * hidden_size]), direction + name))

    def run(self, x, input_weight, recurrent_weight, input_bias, recurrent_bias):
        size = self.size
        h = ops.zeros((x.shape[0], size), x.dtype)
        outputs = []
        for driven in ops.unstack(ops.matmul(x, input_weight.T) + input_bias, 1):
            seen = ops.matmul(h, recurrent_weight.T) + recurrent_bias
            gates = ops.sigmoid(driven[:, :2 * size] + seen[:, :2 * size])
            update, reset = gates[:, :size], gates[:, size:]
            new = tanh(driven[:, 2 * size:] + reset * seen[:, 2 * size:])
            h = update * h + (1 - update) * new
            outputs.append(h)
        return ops.stack(outputs, 1)

    def construct(self, x):
        y = self.run(x, self.input_weight, self.recurrent_weight, self.input_bias, self.recurrent_bias)
        if not self.bidirectional:
            return y
        z = self.run(ops.flip(x, (1,)), self.backward_input_weight, self.backward_recurrent_weight,
                     self.backward_input_bias, self.backward_recurrent_bias)
        return ops.cat((y, ops.flip(z, (1,))), 2)
''',
    "ResetBeforeGRU": '''\
class ResetBeforeGRU(nn.Cell):
    """A GRU whose reset gate multiplies the state before its product, as in Cho et al. 2014; nn.GRU's multiplies
    the product. Gates in the order update, reset, hidden."""

    def __init__(self, input_size, hidden_size, bidirectional=False):
        super().__init__()
        self.size, self.bidirectional = hidden_size, bidirectional
        self.input_weight = Parameter(initializer("XavierUniform", [3 * hidden_size, input_size]), "input_weight")
        self.recurrent_weight = Parameter(
            initializer("XavierUniform", [3 * hidden_size, hidden_size]), "recurrent_weight")
        self.bias = Parameter(initializer("zeros", [3 * hidden_size]), "bias")
        if bidirectional:
            self.backward_input_weight = Parameter(self.input_weight.value(), "backward_input_weight")
            self.backward_recurrent_weight = Parameter(self.recurrent_weight.value(), "backward_recurrent_weight")
            self.backward_bias = Parameter(self.bias.value(), "backward_bias")

    def run(self, x, input_weight, recurrent_weight, bias):
        size = self.size
        gate_weight, new_weight = recurrent_weight[:2 * size].T, recurrent_weight[2 * size:].T
        h = ops.zeros((x.shape[0], size), x.dtype)
        outputs = []
        for driven in ops.unstack(ops.matmul(x, input_weight.T) + bias, 1):
            gates = ops.sigmoid(driven[:, :2 * size] + ops.matmul(h, gate_weight))
            update, reset = gates[:, :size], gates[:, size:]
            new = tanh(driven[:, 2 * size:] + ops.matmul(reset * h, new_weight))
            h = update * h + (1 - update) * new
            outputs.append(h)
        return ops.stack(outputs, 1)

    def construct(self, x):
        y = self.run(x, self.input_weight, self.recurrent_weight, self.bias)
        if not self.bidirectional:
            return y
        z = self.run(ops.flip(x, (1,)), self.backward_input_weight, self.backward_recurrent_weight, self.backward_bias)
        return ops.cat((y, ops.flip(z, (1,))), 2)
''',
}
