"""What Keras 2 must have otherwise on CNTK. Imports neither."""

from typing import ClassVar, Dict, Optional, Sequence, Set, Tuple, Type

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import native_shape
from photofinish.frameworks._keras.any_backend import source
from photofinish.frameworks._keras.any_backend.source import BackendModule, BackendWriter, in_lambda
from photofinish.frameworks._keras.source import PLAIN
from photofinish.frameworks._keras.use import Printed, Rules, Use
from photofinish.frameworks._keras.windows import padding, zero_padding
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

SAME = ', padding="same"'


def _conv(use: Use) -> Printed:
    if max(use.layer.dilation) > 1:
        raise Unsupported("{}: CNTK has no dilated convolution on a CPU".format(use.name))
    printed = source.RULES[layers.Conv](use)
    fits = all(kernel <= use.spec.size(axis) for kernel, axis in zip(use.layer.kernel, "HW"))
    if fits or SAME not in printed[-1]:
        return printed
    return [*zero_padding(use, padding(use)[1]), *(each.replace(SAME, "") for each in printed)]


def _stochastic_depth(use: Use) -> Printed:
    one = "x[{}]".format(", ".join([":"] + ["0:1"] * len(use.spec.axes)))
    return [in_lambda("keras.backend.in_train_phase(x * keras.backend.dropout(keras.backend.ones_like({}), {!r}), x)"
                      .format(one, use.layer.rate), native_shape(use.out))]


RULES: Rules = {
    **source.RULES,
    layers.Conv: _conv,
    layers.StochasticDepth: _stochastic_depth,
    layers.BatchNorm: lambda use: [each.replace("layers.", "", 1) for each in source.RULES[layers.BatchNorm](use)],
    layers.LSTM: lambda use: [each.replace("layers.LSTM(", "LSTM(", 1) for each in source.RULES[layers.LSTM](use)],
}
LOWERED: Dict[type, str] = {
    layers.StochasticDepth: "Dropout of a one for each sample, and a product: CNTK drops single values, whatever shape "
                            "Keras asks for",
}
LIMITS: Dict[type, str] = {
    layers.Conv: source.LIMITS[layers.Conv] + ", as is what pads an image that is smaller than the "
                 "window; none is dilated on a CPU",
    layers.BatchNorm: "of its own epsilon, which Keras on CNTK takes for 1e-3 in training; running averages are "
                      "another pass over the batch, as Keras has them there, but before the weights move; none behind "
                      "a Dropout, which that pass leaves out",
    layers.LSTM: "with one bias; with the state last that comes out, for Keras' loop on CNTK gives the last state",
}

HELPERS = {
    "BatchNormalization": '''
class BatchNormalization(layers.BatchNormalization):
    """Normalises by its own epsilon: Keras on CNTK hands it over in another's place, and takes 1e-3 in training."""

    def call(self, x, training=None):
        backend, axes = keras.backend, list(range(keras.backend.ndim(x) - 1))
        _, mean, variance = backend.normalize_batch_in_training(x, self.gamma, self.beta, axes)
        kept = self.moving_mean, self.moving_variance
        self.add_update([backend.moving_average_update(average, now, self.momentum)
                         for average, now in zip(kept, (mean, variance))], x)
        normed, inferred = (backend.batch_normalization(x, *each, self.beta, self.gamma, epsilon=self.epsilon)
                            for each in ((mean, variance), kept))
        return backend.in_train_phase(normed, inferred, training)
''',
    "LSTM": '''
class LSTM(layers.LSTM):
    """Its states change places: the loop of Keras on CNTK takes the last one, which would be the cell's, for what comes
    out."""

    def __init__(self, units, **options):
        super().__init__(units, **options)
        own = self.cell.call

        def call(x, states, training=None):
            h, (_, c) = own(x, states[::-1], training=training)
            return h, [c, h]
        self.cell.call = call
''',
    "AveragesFirst": '''
class AveragesFirst(keras.Model):
    """Running averages of the weights that a step begins with: on CNTK they are another pass over the batch, which
    Keras itself makes when the weights have moved."""

    def _make_train_function(self):
        made = self.train_function
        super()._make_train_function()
        if made is None:
            step = self.train_function
            averages, step.unrelated_updates = step.unrelated_updates, None

            def train(values):
                given = dict(zip(step.placeholders, values))
                keras.backend.learning_phase().value = np.ones((), np.float32)
                averages.eval({each: given[each] for each in averages.arguments}, as_numpy=False)
                return step(values)
            self.train_function = train
''',
}


class Writer(BackendWriter):
    rules: ClassVar[Rules] = RULES


class Module(BackendModule):
    writes: ClassVar[Type[BackendWriter]] = Writer
    own = HELPERS

    def _model(self, names: Sequence[str]) -> str:
        text = super()._model(names)
        return text.replace("keras.Model(", "AveragesFirst(", 1) if self.graph.state else text


def _refuse_averages_of_dropped(graph: Graph) -> None:
    """Raises Unsupported."""
    dropped: Set[str] = set()
    for node in graph.nodes:
        after = bool(dropped.intersection(node.inputs))
        if after and isinstance(node.layer, layers.BatchNorm):
            raise Unsupported("{}: the running averages behind a Dropout are of values that were not dropped, on CNTK"
                              .format(node.name))
        if after or isinstance(node.layer, (layers.Dropout, layers.StochasticDepth)):
            dropped.update(node.outputs)


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN) -> str:
    """Raises Unsupported, naming the layer."""
    _refuse_averages_of_dropped(graph)
    return source.written(Module(graph, ""), graph, optimizer)


def level(kind: type, version: str) -> Tuple[str, str]:
    """What is made of a layer, and how or why not."""
    return source.level(kind, LOWERED, LIMITS)
