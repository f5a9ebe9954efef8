"""Keras 2 code for a graph, as text: Keras' own layers where versions of 2018 had them, a Lambda around operations
elsewhere. Models give lists."""

import re
from typing import Any, ClassVar, Sequence, Tuple, Type

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call, show
from photofinish.frameworks._keras import pooling
from photofinish.frameworks._keras.depthwise import is_depthwise
from photofinish.frameworks._keras.source import RULES as PRESENT
from photofinish.frameworks._keras.source import Module, Writer
from photofinish.frameworks._keras.use import Printed, Rules, Use

KERAS_3: Rules = PRESENT
MADE = re.compile(r"(layers\.|[A-Z]\w*\()")  # what begins with it makes a layer and calls it


def _conv(use: Use) -> Printed:
    depthwise = is_depthwise(use.layer, use.spec)
    dilated = max(use.layer.dilation if isinstance(use.layer, layers.Conv) else (1,)) > 1
    if (use.layer.groups > 1 and not depthwise) or (depthwise and isinstance(use.layer, layers.SequenceConv)):
        raise Unsupported("{}: Keras 2 has no convolution in groups until 2.3".format(use.name))
    if depthwise and dilated:
        raise Unsupported("{}: Keras 2 has no dilated depthwise convolution until 2.3".format(use.name))
    return KERAS_3[type(use.layer)](use)


def _adaptive_average_pool(use: Use) -> Printed:
    sizes, counts = (use.spec.size("H"), use.spec.size("W")), tuple(use.layer.size)
    if sizes == counts:
        return [use.keras("Activation", "linear")]
    if not any(size % count for size, count in zip(sizes, counts)):
        return pooling.RULES[layers.AdaptiveAveragePool](use)
    down, across = ("bins({}, {})".format(size, count) for size, count in zip(sizes, counts))
    return ["tf.transpose(tf.tensordot(tf.tensordot({{0}}, {}, [[1], [0]]), {}, [[1], [0]]), [0, 2, 3, 1])".format(
        down, across)]


def _global_average_pool(use: Use) -> Printed:
    if use.spec.axes != "CHW" and not (use.spec.axes == "TC" and not use.layer.keep_axes):
        raise Unsupported("{} (GlobalAveragePool): no Keras layer for axes {}".format(use.name, use.spec.axes))
    pool = use.keras("GlobalAveragePooling2D" if use.spec.axes == "CHW" else "GlobalAveragePooling1D")
    return [pool] + ([call("layers.Reshape", (1, 1, use.spec.size("C"))) + "({0})"] if use.layer.keep_axes else [])


def _gated(use: Use, kind: str, **options: Any) -> Printed:
    """Gates by the sigmoid itself: Keras 2 takes pieces of straight lines unless it is told."""
    options.update(return_sequences=True, recurrent_activation="sigmoid")
    if not use.layer.bidirectional:
        return [call(kind, use.layer.features, **dict(options, name=use.name)) + "({0})"]
    return ["layers.Bidirectional({}, name={})({{0}})".format(call(kind, use.layer.features, **options),
                                                              show(use.name))]


def _flatten(use: Use) -> Printed:
    if len(use.spec.axes) == 1:  # Keras 2.2 refuses what is flat already
        return [use.keras("Activation", "linear")]
    return KERAS_3[layers.Flatten](use)


def _lstm(use: Use) -> Printed:
    if use.layer.double_bias:
        raise Unsupported("{}: an LSTM of Keras 2 has one bias".format(use.name))
    return _gated(use, "layers.LSTM")


def _local_response_norm(use: Use) -> Printed:
    if use.layer.size % 2 == 0:
        raise Unsupported("{}: TensorFlow's local response norm has a window with a middle".format(use.name))
    return ["tf.nn.lrn({{0}}, {}, {!r}, {!r}, {!r})".format(
        use.layer.size // 2, float(use.layer.bias), use.layer.alpha / use.layer.size, use.layer.beta)]


_AS_TODAY = (layers.Relu, layers.Sigmoid, layers.Tanh, layers.LeakyRelu, layers.Elu, layers.Dropout,
             layers.StochasticDepth, layers.RowsToSequence, layers.Add, layers.Multiply, layers.Concat, layers.Scale,
              layers.Pad, layers.Slice, layers.Select, layers.ImageToSequence, layers.BatchNorm,
             layers.ConvTranspose, layers.Linear, layers.Embedding)


def _clip(use: Use) -> Printed:
    if (use.layer.low, use.layer.high) != (0, 6):
        raise Unsupported("{}: Keras 2 clips at 0 and 6 alone".format(use.name))
    return KERAS_3[layers.Clip](use)


RULES: Rules = {kind: KERAS_3[kind] for kind in _AS_TODAY}
RULES.update({
    layers.Clip: _clip,
    layers.Flatten: _flatten,
    layers.Swish: lambda use: ["{0} * keras.backend.sigmoid({0})"],
    layers.Conv: _conv,
    layers.SequenceConv: _conv,
    layers.EmbeddingBag: lambda use: [KERAS_3[layers.Embedding](use)[0], "keras.backend.sum({0}, axis=1)"],
    layers.MaxPool: lambda use: pooling.max_pool(use, "tf.pad"),
    layers.AveragePool: lambda use: pooling.average_pool(use, "{{0}} * {edges}"),
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.GlobalAveragePool: _global_average_pool,
    layers.LocalResponseNorm: _local_response_norm,
    layers.LSTM: _lstm,
    layers.GRU: lambda use: _gated(use, "layers.GRU", reset_after=bool(use.layer.reset_after)),
})

LOWERED = {
    layers.Swish: "a product and a sigmoid in a Lambda",
    layers.EmbeddingBag: "an Embedding, which writes every row out, then a sum",
}
LIMITS = {
    layers.Conv: "none in groups, but for depthwise ones, which are not dilated",
    layers.SequenceConv: "none in groups",
    layers.Clip: "between 0 and 6",
    layers.AdaptiveAveragePool: "where the bins are not equal, two matrix products in a Lambda",
    layers.LSTM: "with one bias",
    layers.LocalResponseNorm: "where the window is odd",
    layers.BatchNorm: "of images, whose running variance takes n - 1; of vectors n; converted where the layer says so",
}
LOSSES = {layers.SoftmaxCrossEntropy: "mode graph alone has smoothed labels", layers.BinaryCrossEntropy: "mode graph"}


def level(kind: type, version: str) -> Tuple[str, str]:
    """What is made of a layer, and how or why not."""
    if kind in LOWERED:
        return "lowered", LOWERED[kind]
    if kind in RULES or kind in LOSSES:
        return "native", LIMITS.get(kind, LOSSES.get(kind, ""))
    return "absent", "nobody has written it for Keras 2"


HELPERS = {
    "bins": pooling.HELPERS["bins"].replace("keras.config", "keras.backend"),
    "TiedDense": '''
class TiedDense(layers.Layer):
    """A matrix product with the kernel of another layer, or the transposed table of an embedding."""

    def __init__(self, units, source, use_bias=True, **options):
        super().__init__(**options)
        self.units, self.source, self.use_bias = units, source, use_bias

    def build(self, shape):
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros") if self.use_bias else None
        super().build(shape)

    def call(self, x):
        tied = self.source
        y = keras.backend.dot(x, keras.backend.transpose(tied.embeddings) if isinstance(tied, layers.Embedding)
                              else tied.kernel)
        return y if self.bias is None else y + self.bias

    def compute_output_shape(self, shape):
        return tuple(shape[:-1]) + (self.units,)
''',
}


class Writer2(Writer):
    """Prints layers; an operation is put into a Lambda, for Keras models are made of layers alone."""

    rules: ClassVar[Rules] = RULES

    def expressions(self, use: Use) -> Printed:
        return [each if MADE.match(each) else _lambda(each) for each in super().expressions(use)]


def _lambda(expression: str) -> str:
    if "{1}" not in expression:
        return "layers.Lambda(lambda x: {})({{0}})".format(expression.replace("{0}", "x"))
    count = 1 + max(int(each) for each in re.findall(r"\{(\d+)\}", expression))
    inner = re.sub(r"\{(\d+)\}", r"xs[\1]", expression)
    return "layers.Lambda(lambda xs: {})([{}])".format(inner, ", ".join("{%d}" % i for i in range(count)))


class Module2(Module):
    """A printed module of Keras 2."""

    writes: ClassVar[Type[Writer]] = Writer2

    def _model(self, names: Sequence[str]) -> str:
        return "keras.Model({}, [{}])".format(self.argument, ", ".join(self.writer.variables[name] for name in names))
