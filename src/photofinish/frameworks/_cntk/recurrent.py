"""Gated recurrent layers; Scan is a class of its own, written by `source`."""

from photofinish import layers
from photofinish.frameworks._cntk.native import Rules, part

RULES: Rules = {
    layers.LSTM: lambda layer, spec: part("LSTM", spec.size("C"), layer.features, ways=_ways(layer),
                                          double_bias=layer.double_bias or None),
    layers.GRU: lambda layer, spec: part("GRU", spec.size("C"), layer.features, ways=_ways(layer),
                                         reset_after=None if layer.reset_after else False),
}


def _ways(layer: layers.Recurrent) -> object:
    return ("", "backward_") if layer.bidirectional else None


LOWERED = {
    layers.LSTM: "a Python loop over the steps: CNTK's own runs over sequences whose lengths differ",
    layers.GRU: "a Python loop over the steps: CNTK's own runs over sequences whose lengths differ",
    layers.Scan: "a Python loop over the steps",
}

HELPERS = {
    "fill": '''\
def fill(cell, inputs, ways, gates, biases):
    """Gives a cell its parameters, for each of its directions."""
    for way in ways:
        setattr(cell, way + "input_weight", C.parameter((gates * cell.size, inputs), init=C.glorot_uniform()))
        setattr(cell, way + "recurrent_weight", C.parameter((gates * cell.size, cell.size), init=C.glorot_uniform()))
        for name in biases:
            setattr(cell, way + name, C.parameter((gates * cell.size,), init=0.0))
''',
    "along": '''\
def along(cell, x, way, states):
    """Runs a cell over a sequence (steps, features), backward if it is that way."""
    driven, found = C.times_transpose(x, getattr(cell, way + "input_weight")) + cell.added(way), {}
    for i in range(x.shape[0])[::-1 if way else 1]:
        states = cell.step(row(driven, i), way, *states)
        found[i] = states[0]
    return stacked(*(found[i] for i in sorted(found)))
''',
    "parts": '''\
def parts(gates, size):
    return [C.slice(gates, 0, i, i + size) for i in range(0, gates.shape[0], size)]
''',
    "LSTM": '''\
class LSTM:
    """From zeros; gates in the order input, forget, cell, output."""

    def __init__(self, inputs, size, ways=("",), double_bias=False):
        self.size, self.ways = size, ways
        self.biases = ("input_bias", "recurrent_bias") if double_bias else ("bias",)
        fill(self, inputs, ways, 4, self.biases)

    def __call__(self, x):
        zeros = C.constant(0.0, (self.size,))
        return C.splice(*(along(self, x, way, (zeros, zeros)) for way in self.ways), axis=1)

    def added(self, way):
        return sum(getattr(self, way + name) for name in self.biases)

    def step(self, driven, way, hidden, cell):
        gates = driven + C.times_transpose(hidden, getattr(self, way + "recurrent_weight"))
        enter, forget, new, leave = parts(gates, self.size)
        cell = C.sigmoid(forget) * cell + C.sigmoid(enter) * C.tanh(new)
        return C.sigmoid(leave) * C.tanh(cell), cell
''',
    "GRU": '''\
class GRU:
    """From zeros; gates in the order update, reset, hidden. The reset gate multiplies the product (`reset_after`: two
    biases) or the state before it (one)."""

    def __init__(self, inputs, size, ways=("",), reset_after=True):
        self.size, self.ways, self.reset_after = size, ways, reset_after
        fill(self, inputs, ways, 3, ("input_bias", "recurrent_bias") if reset_after else ("bias",))

    def __call__(self, x):
        zeros = C.constant(0.0, (self.size,))
        return C.splice(*(along(self, x, way, (zeros,)) for way in self.ways), axis=1)

    def added(self, way):
        return getattr(self, way + ("input_bias" if self.reset_after else "bias"))

    def step(self, driven, way, hidden):
        weight, (update, reset, new) = getattr(self, way + "recurrent_weight"), parts(driven, self.size)
        if self.reset_after:
            seen = parts(C.times_transpose(hidden, weight) + getattr(self, way + "recurrent_bias"), self.size)
        else:
            seen = parts(C.times_transpose(hidden, C.slice(weight, 0, 0, 2 * self.size)), self.size)
        update, reset = C.sigmoid(update + seen[0]), C.sigmoid(reset + seen[1])
        last = reset * seen[2] if self.reset_after else C.times_transpose(
            reset * hidden, C.slice(weight, 0, 2 * self.size, 3 * self.size))
        return (update * hidden + (1 - update) * C.tanh(new + last),)
''',
}
