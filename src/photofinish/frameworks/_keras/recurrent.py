"""Loops over time."""

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._keras.use import Printed, Rules, Use, identifier, show


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


RULES: Rules = {layers.Scan: _scan}

HELPERS = {
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
