"""Gated recurrent layers; Scan is a class of its own, written by `source`."""

from photofinish import layers
from photofinish.frameworks._pytensor.native import Rules, part

RULES: Rules = {
    layers.LSTM: lambda layer, spec: part("LSTM", spec.size("C"), layer.features, ways=_ways(layer),
                                          double_bias=layer.double_bias or None),
    layers.GRU: lambda layer, spec: part("GRU", spec.size("C"), layer.features, ways=_ways(layer),
                                         reset_after=None if layer.reset_after else False),
}


def _ways(layer: layers.Recurrent) -> object:
    return ("", "backward_") if layer.bidirectional else None


LOWERED = {
    layers.LSTM: "pytensor.scan over a step of operations: PyTensor ships no layers",
    layers.GRU: "pytensor.scan over a step of operations: PyTensor ships no layers",
    layers.Scan: "a loop in Python",
}

HELPERS = {
    "fill": '''\
def fill(cell, inputs, ways, gates, biases):
    """Gives a cell its parameters, for each of its directions."""
    for way in ways:
        setattr(cell, way + "input_weight", drawn(gates * cell.size, inputs, inputs=inputs))
        setattr(cell, way + "recurrent_weight", drawn(gates * cell.size, cell.size, inputs=cell.size))
        for name in biases:
            setattr(cell, way + name, zeros(gates * cell.size))
''',
    "along": '''\
def along(cell, x, way, states):
    """Runs a cell over sequences (batch, steps, features), backward if it is that way."""
    driven = (pt.dot(x, getattr(cell, way + "input_weight").T) + cell.added(way)).transpose(1, 0, 2)
    state = pt.zeros((x.shape[0], cell.size), dtype="float32")

    def step(now, *known):
        return cell.step(now, way, *known)

    found = pytensor.scan(step, sequences=[driven[::-1] if way else driven], outputs_info=[state] * states,
                          return_updates=False)
    hidden = found[0] if states > 1 else found
    return (hidden[::-1] if way else hidden).transpose(1, 0, 2)
''',
    "parts": '''\
def parts(gates, size, count):
    return [gates[:, i * size:(i + 1) * size] for i in range(count)]
''',
    "LSTM": '''\
class LSTM:
    """From zeros; gates in the order input, forget, cell, output."""

    def __init__(self, inputs, size, ways=("",), double_bias=False):
        self.size, self.ways = size, ways
        self.biases = ("input_bias", "recurrent_bias") if double_bias else ("bias",)
        fill(self, inputs, ways, 4, self.biases)

    def __call__(self, x):
        return pt.concatenate([along(self, x, way, 2) for way in self.ways], axis=2)

    def added(self, way):
        return sum(getattr(self, way + name) for name in self.biases)

    def step(self, driven, way, hidden, cell):
        gates = driven + pt.dot(hidden, getattr(self, way + "recurrent_weight").T)
        enter, forget, new, leave = parts(gates, self.size, 4)
        cell = pt.sigmoid(forget) * cell + pt.sigmoid(enter) * pt.tanh(new)
        return pt.sigmoid(leave) * pt.tanh(cell), cell
''',
    "GRU": '''\
class GRU:
    """From zeros; gates in the order update, reset, hidden. The reset gate multiplies the product (`reset_after`: two
    biases) or the state before it (one)."""

    def __init__(self, inputs, size, ways=("",), reset_after=True):
        self.size, self.ways, self.reset_after = size, ways, reset_after
        fill(self, inputs, ways, 3, ("input_bias", "recurrent_bias") if reset_after else ("bias",))

    def __call__(self, x):
        return pt.concatenate([along(self, x, way, 1) for way in self.ways], axis=2)

    def added(self, way):
        return getattr(self, way + ("input_bias" if self.reset_after else "bias"))

    def step(self, driven, way, hidden):
        weight, (update, reset, new) = getattr(self, way + "recurrent_weight"), parts(driven, self.size, 3)
        if self.reset_after:
            seen = parts(pt.dot(hidden, weight.T) + getattr(self, way + "recurrent_bias"), self.size, 3)
        else:
            seen = parts(pt.dot(hidden, weight[:2 * self.size].T), self.size, 2)
        update, reset = pt.sigmoid(update + seen[0]), pt.sigmoid(reset + seen[1])
        last = reset * seen[2] if self.reset_after else pt.dot(reset * hidden, weight[2 * self.size:].T)
        return update * hidden + (1 - update) * pt.tanh(new + last)
''',
}
