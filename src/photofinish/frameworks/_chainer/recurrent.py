"""Gated recurrent layers; Scan is a class of its own, written by `source`.

What L.NStepLSTM and L.NStepGRU call their arrays, one for each gate, is in weights.py.
"""

from photofinish import layers
from photofinish.frameworks._chainer.native import Native, Rules, call, link
from photofinish.layers import Spec


def _step(kind: str, layer: layers.Recurrent, spec: Spec) -> str:
    return call("L.NStep{}{}".format("Bi" if layer.bidirectional else "", kind), 1, spec.size("C"), layer.features, 0.0)


def _lstm(layer: layers.LSTM, spec: Spec) -> Native:
    made = _step("LSTM", layer, spec)
    return Native("over_time({self}, {0})", made if layer.double_bias else "without_second_bias({})".format(made))


def _gru(layer: layers.GRU, spec: Spec) -> Native:
    if layer.reset_after:
        return Native("over_time({self}, {0})", _step("GRU", layer, spec))
    return link("ResetBeforeGRU", spec.size("C"), layer.features, bidirectional=layer.bidirectional or None)


RULES: Rules = {layers.LSTM: _lstm, layers.GRU: _gru}

LOWERED = {layers.Scan: "a Python loop over the steps"}
LIMITS = {
    layers.LSTM: "taken apart into sequences and stacked again; where the layer has one bias, Chainer's second is zero",
    layers.GRU: "taken apart into sequences and stacked again; where the reset gate comes before the product, a "
                "loop in Python",
}

HELPERS = {
    "over_time": '''\
def over_time(recurrent, x):
    """Runs over sequences of one length, from a state of zeros."""
    states = (None,) * (2 if isinstance(recurrent, (L.NStepLSTM, L.NStepBiLSTM)) else 1)
    return F.stack(recurrent(*states, F.separate(x, axis=0))[-1], axis=0)
''',
    "without_second_bias": '''\
def without_second_bias(lstm):
    """Chainer adds two biases: the second becomes zeros that nothing trains."""
    for direction in lstm:
        for name in ("b4", "b5", "b6", "b7"):
            zeros = np.zeros(getattr(direction, name).shape, np.float32)
            delattr(direction, name)
            setattr(direction, name, zeros)
    return lstm
''',
    "ResetBeforeGRU": '''\
class ResetBeforeGRU(chainer.Link):
    """A GRU whose reset gate multiplies the state before its product, as in Cho et al. 2014; L.NStepGRU's multiplies
    the product. Gates in the order update, reset, hidden."""

    def __init__(self, in_size, out_size, bidirectional=False):
        super().__init__()
        self.size = out_size
        self.directions = ("", "backward_") if bidirectional else ("",)
        init = chainer.initializers.Uniform(out_size**-0.5)
        with self.init_scope():
            for direction in self.directions:
                setattr(self, direction + "input_weight", chainer.Parameter(init, (3 * out_size, in_size)))
                setattr(self, direction + "recurrent_weight", chainer.Parameter(init, (3 * out_size, out_size)))
                setattr(self, direction + "bias", chainer.Parameter(init, (3 * out_size,)))

    def run(self, x, direction):
        input_weight, recurrent_weight, bias = (
            getattr(self, direction + name) for name in ("input_weight", "recurrent_weight", "bias"))
        gate_weight, new_weight = recurrent_weight[:2 * self.size], recurrent_weight[2 * self.size:]
        h = np.zeros((len(x), self.size), x.dtype)
        outputs = []
        for drive in F.separate(F.linear(x, input_weight, bias, n_batch_axes=2), axis=1):
            gates = F.sigmoid(drive[:, :2 * self.size] + F.linear(h, gate_weight))
            update, reset = gates[:, :self.size], gates[:, self.size:]
            new = F.tanh(drive[:, 2 * self.size:] + F.linear(reset * h, new_weight))
            h = new + update * (h - new)
            outputs.append(h)
        return F.stack(outputs, axis=1)

    def forward(self, x):
        outputs = [self.run(x, self.directions[0])]
        outputs += [F.flip(self.run(F.flip(x, 1), direction), 1) for direction in self.directions[1:]]
        return F.concat(outputs, axis=2)
''',
}
