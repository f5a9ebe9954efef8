"""Gated recurrent layers, and loops over time."""

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call, show
from photofinish.frameworks._keras.use import Printed, Rules, Use, identifier


def _scan(use: Use) -> Printed:
    body = use.layer.body
    if body.state:
        raise Unsupported("{} (Scan): a body with state of its own".format(use.name))
    axes = [spec.axes for _, spec in body.inputs] + [body.spec(name).axes for name in body.outputs]
    if axes != ["C"] * 4:
        raise Unsupported("{} (Scan): Keras' RNN carries and steps vectors (C), not {}".format(use.name, axes))
    cell = "ScanCell({}())".format(identifier(use.name + ".step"))
    return ["layers.RNN({}, return_sequences=True, return_state=True, name={})({{1}}, initial_state=[{{0}}])[::-1]"
            .format(cell, show(use.name))]


def _gated(use: Use, kind: str, **options: bool) -> Printed:
    if use.mode == "xla":  # which cannot compile cuDNN's layers
        options["use_cudnn"] = False
    if not use.layer.bidirectional:
        return [call(kind, use.layer.features, return_sequences=True, **dict(options, name=use.name)) + "({0})"]
    forward = call(kind, use.layer.features, return_sequences=True, **options)
    return ["layers.Bidirectional({}, name={})({{0}})".format(forward, show(use.name))]


def _lstm(use: Use) -> Printed:
    return _gated(use, "DoubleBiasLSTM" if use.layer.double_bias else "layers.LSTM")


def _gru(use: Use) -> Printed:
    return _gated(use, "layers.GRU") if use.layer.reset_after else _gated(use, "layers.GRU", reset_after=False)


RULES: Rules = {layers.Scan: _scan, layers.LSTM: _lstm, layers.GRU: _gru}

LIMITS = {
    layers.LSTM: "a loop of matrix products on a CPU and under XLA, cuDNN's on a GPU; two biases are a subclass "
                 "whose kernels see their sum",
    layers.GRU: "a loop of matrix products on a CPU, under XLA and where the reset gate comes first, cuDNN's on "
                "a GPU",
}

HELPERS = {
    "DoubleBiasLSTM": '''
class DoubleBiasLSTMCell(layers.LSTMCell):
    """An LSTM cell with a bias for the input and one for the state; whoever asks for its bias gets their sum."""

    def build(self, input_shape):
        super().build(input_shape)
        self.recurrent_bias = self.add_weight(shape=(4 * self.units,), initializer="zeros", name="recurrent_bias")

    @property
    def bias(self):
        return self.input_bias + self.recurrent_bias

    @bias.setter
    def bias(self, variable):
        self.input_bias = variable


@keras.saving.register_keras_serializable()  # Bidirectional copies it
class DoubleBiasLSTM(layers.LSTM):
    """layers.LSTM with the two biases of PyTorch and cuDNN."""

    def __init__(self, units, **options):
        super().__init__(units, **options)
        self.cell = DoubleBiasLSTMCell(units, name="lstm_cell")
''',
    "ScanCell": '''
class ScanCell(layers.Layer):
    """A recurrent cell: one step is a model from [carry, input] to [carry, output]."""

    def __init__(self, step, **options):
        super().__init__(**options)
        self.step = step
        self.state_size, self.output_size = (tensor.shape[-1] for tensor in step.outputs)

    def call(self, x, states, training=None):
        carry, y = self.step([states[0], x], training=training)
        return y, [carry]
''',
}
