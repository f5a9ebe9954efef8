"""Gated recurrent layers; Scan is a class of its own, written by `source`.

What nn.LSTM and nn.GRU call their arrays is in weights.py.
"""

from photofinish import layers
from photofinish.frameworks._torch.native import Native, Rules, write
from photofinish.layers import Spec


def _module(kind: str, layer: layers.Recurrent, spec: Spec, **options: bool) -> str:
    if layer.bidirectional:
        options["bidirectional"] = True
    return write(kind, spec.size("C"), layer.features, **options)


def _lstm(layer: layers.LSTM, spec: Spec) -> Native:
    """PyTorch adds two biases: where the layer has one, the other stays zero."""
    unused = () if layer.double_bias else ("bias_hh_l0", "bias_hh_l0_reverse")[:1 + layer.bidirectional]
    return Native("{self}({0})[0]", _module("nn.LSTM", layer, spec, batch_first=True),
                  tuple("nn.init.zeros_({self}.%s).requires_grad_(False)" % name for name in unused))


def _gru(layer: layers.GRU, spec: Spec) -> Native:
    if layer.reset_after:
        return Native("{self}({0})[0]", _module("nn.GRU", layer, spec, batch_first=True))
    return Native("{self}({0})", _module("ResetBeforeGRU", layer, spec))


RULES: Rules = {layers.LSTM: _lstm, layers.GRU: _gru}

LOWERED = {layers.Scan: "a Python loop over the steps"}
LIMITS = {
    layers.LSTM: "where the layer has one bias, PyTorch's second is held at zero; torch.compile leaves it alone",
    layers.GRU: "where the reset gate comes before the product, a loop in Python; torch.compile leaves both alone",
}

HELPERS = {
    "ResetBeforeGRU": '''\
class ResetBeforeGRU(nn.Module):
    """A GRU whose reset gate multiplies the state before its product, as in Cho et al. 2014; nn.GRU's multiplies
    the product. Gates in the order update, reset, hidden."""

    def __init__(self, input_size, hidden_size, bidirectional=False):
        super().__init__()
        self.directions = ("", "backward_") if bidirectional else ("",)
        shapes = {"input_weight": (3 * hidden_size, input_size), "recurrent_weight": (3 * hidden_size, hidden_size),
                  "bias": (3 * hidden_size,)}
        for direction in self.directions:
            for name, shape in shapes.items():
                values = torch.empty(shape).uniform_(-hidden_size**-0.5, hidden_size**-0.5)
                self.register_parameter(direction + name, nn.Parameter(values))

    def run(self, x, direction):
        input_weight, recurrent_weight, bias = (
            getattr(self, direction + name) for name in ("input_weight", "recurrent_weight", "bias"))
        size = recurrent_weight.shape[1]
        gate_weight, new_weight = recurrent_weight.split((2 * size, size))
        h = x.new_zeros(x.shape[0], size)
        outputs = []
        for driven in F.linear(x, input_weight, bias).unbind(1):
            driven_gates, driven_new = driven.split((2 * size, size), 1)
            update, reset = torch.sigmoid(driven_gates + F.linear(h, gate_weight)).chunk(2, 1)
            new = torch.tanh(driven_new + F.linear(reset * h, new_weight))
            h = torch.lerp(new, h, update)
            outputs.append(h)
        return torch.stack(outputs, 1)

    @torch.compiler.disable  # it would compile for minutes, step by step; nn.GRU is left to eager PyTorch too
    def forward(self, x):
        outputs = [self.run(x, self.directions[0])]
        outputs += [self.run(x.flip(1), direction).flip(1) for direction in self.directions[1:]]
        return torch.cat(outputs, 2)
''',
}
