"""Gated recurrent layers; Scan is a class of its own, written by `source`."""



from photofinish import layers
from photofinish.frameworks._paddle.native import Code, Native, Rules, module, write
from photofinish.layers import Spec

UNMOVED = "paddle.ParamAttr(initializer=nn.initializer.Constant(), learning_rate=0.0)"


def _lstm(layer: layers.LSTM, spec: Spec) -> Native:
    """Paddle adds two biases: where the layer has one, the other stays zero. (Without a gradient its kernel fails.)"""
    return Native("{self}({0})[0]", write(
        "nn.LSTM", spec.size("C"), layer.features, direction="bidirect" if layer.bidirectional else None,
        bias_hh_attr=None if layer.double_bias else Code(UNMOVED)))


def _gru(layer: layers.GRU, spec: Spec) -> Native:
    if layer.reset_after:
        return Native("{self}({0})[0]", write(
            "nn.GRU", spec.size("C"), layer.features, direction="bidirect" if layer.bidirectional else None))
    return module("ResetBeforeGRU", spec.size("C"), layer.features, bidirectional=layer.bidirectional or None)


RULES: Rules = {layers.LSTM: _lstm, layers.GRU: _gru}

LOWERED = {layers.Scan: "a Python loop over the steps"}
LIMITS = {
    layers.LSTM: "where the layer has one bias, Paddle's second is held at zero",
    layers.GRU: "where the reset gate comes before the product, a loop in Python",
}

HELPERS = {
    "ResetBeforeGRU": '''\
class ResetBeforeGRU(nn.Layer):
    """A GRU whose reset gate multiplies the state before its product, as in Cho et al. 2014; nn.GRU's multiplies
    the product. Gates in the order update, reset, hidden."""

    def __init__(self, input_size, hidden_size, bidirectional=False):
        super().__init__()
        self.size = hidden_size
        self.directions = ["", "backward_"] if bidirectional else [""]
        for direction in self.directions:
            for name, shape in (("input_weight", [3 * hidden_size, input_size]),
                                ("recurrent_weight", [3 * hidden_size, hidden_size]), ("bias", [3 * hidden_size])):
                self.add_parameter(direction + name, self.create_parameter(shape, is_bias=name == "bias"))

    def run(self, x, input_weight, recurrent_weight, bias):
        size = self.size
        gate_weight, new_weight = recurrent_weight[:2 * size], recurrent_weight[2 * size:]
        h = paddle.zeros([x.shape[0], size], x.dtype)
        outputs = []
        for driven in paddle.unbind(paddle.matmul(x, input_weight, transpose_y=True) + bias, 1):
            gates = F.sigmoid(driven[:, :2 * size] + paddle.matmul(h, gate_weight, transpose_y=True))
            update, reset = gates[:, :size], gates[:, size:]
            new = paddle.tanh(driven[:, 2 * size:] + paddle.matmul(reset * h, new_weight, transpose_y=True))
            h = update * h + (1 - update) * new
            outputs.append(h)
        return paddle.stack(outputs, 1)

    def forward(self, x):
        y = self.run(x, self.input_weight, self.recurrent_weight, self.bias)
        if len(self.directions) == 1:
            return y
        z = self.run(paddle.flip(x, 1), self.backward_input_weight, self.backward_recurrent_weight, self.backward_bias)
        return paddle.concat((y, paddle.flip(z, 1)), 2)
''',
}
