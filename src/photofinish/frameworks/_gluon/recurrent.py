"""Gated recurrent layers; Scan is a class of its own, written by `source`.

What rnn.LSTM and rnn.GRU call their arrays is in weights.py.
"""

from photofinish import layers
from photofinish.frameworks._gluon.native import Native, Rules, block, call
from photofinish.layers import Spec


def _fused(kind: str, layer: layers.Recurrent, spec: Spec) -> str:
    return call(kind, layer.features, layout="NTC", bidirectional=layer.bidirectional or None,
                input_size=spec.size("C"))


def _lstm(layer: layers.LSTM, spec: Spec) -> Native:
    """MXNet adds two biases: where the layer has one, the other stays zero."""
    unused = () if layer.double_bias else ("l0_h2h_bias", "r0_h2h_bias")[:1 + layer.bidirectional]
    return Native("{self}({0})", _fused("rnn.LSTM", layer, spec),
                  tuple('{self}.%s.grad_req = "null"' % name for name in unused))


def _gru(layer: layers.GRU, spec: Spec) -> Native:
    if layer.reset_after:
        return Native("{self}({0})", _fused("rnn.GRU", layer, spec))
    return block("ResetBeforeGRU", spec.size("T"), spec.size("C"), layer.features,
                 bidirectional=layer.bidirectional or None)


RULES: Rules = {layers.LSTM: _lstm, layers.GRU: _gru}

LOWERED = {layers.Scan: "a Python loop over the steps, unrolled where it is hybridized"}
LIMITS = {
    layers.LSTM: "where the layer has one bias, MXNet's second is held at zero",
    layers.GRU: "where the reset gate comes before the product, a loop in Python, unrolled where it is hybridized",
}

HELPERS = {
    "steps": '''\
def steps(F, sequence, length):
    """The positions of a sequence (batch, length, channels), one by one."""
    if length == 1:  # what F.split gives is no list then
        return [F.squeeze(sequence, axis=1)]
    return list(F.split(sequence, num_outputs=length, axis=1, squeeze_axis=True))
''',
    "ResetBeforeGRU": '''\
class ResetBeforeGRU(gluon.HybridBlock):
    """A GRU whose reset gate multiplies the state before its product, as in Cho et al. 2014; rnn.GRU's multiplies
    the product. Gates in the order update, reset, hidden."""

    def __init__(self, length, input_size, hidden_size, bidirectional=False):
        super().__init__()
        self.length, self.size = length, hidden_size
        shapes = {"input_weight": (3 * hidden_size, input_size), "recurrent_weight": (3 * hidden_size, hidden_size),
                  "bias": (3 * hidden_size,)}
        for direction in ("", "backward_") if bidirectional else ("",):
            for name, shape in shapes.items():
                init = mx.init.Uniform(hidden_size**-0.5)
                setattr(self, direction + name, self.params.get(direction + name, shape=shape, init=init))

    def run(self, F, x, input_weight, recurrent_weight, bias):
        size = self.size
        gate_weight = F.slice_axis(recurrent_weight, axis=0, begin=0, end=2 * size)
        new_weight = F.slice_axis(recurrent_weight, axis=0, begin=2 * size, end=3 * size)
        driven = F.FullyConnected(x, input_weight, bias, num_hidden=3 * size, flatten=False)
        h, outputs = None, []
        for drive in steps(F, driven, self.length):
            gates = F.slice_axis(drive, axis=1, begin=0, end=2 * size)
            new = F.slice_axis(drive, axis=1, begin=2 * size, end=3 * size)
            if h is None:  # from a state of zeros
                h = F.zeros_like(new)
            gates = gates + F.FullyConnected(h, gate_weight, num_hidden=2 * size, no_bias=True)
            update, reset = F.split(F.Activation(gates, act_type="sigmoid"), num_outputs=2, axis=1)
            new = new + F.FullyConnected(reset * h, new_weight, num_hidden=size, no_bias=True)
            new = F.Activation(new, act_type="tanh")
            h = new + update * (h - new)
            outputs.append(h)
        return F.stack(*outputs, axis=1)

    def hybrid_forward(self, F, x, input_weight, recurrent_weight, bias, **backward):
        y = self.run(F, x, input_weight, recurrent_weight, bias)
        if not backward:
            return y
        own = (backward["backward_" + name] for name in ("input_weight", "recurrent_weight", "bias"))
        return F.concat(y, F.reverse(self.run(F, F.reverse(x, axis=1), *own), axis=1), dim=2)
''',
}
