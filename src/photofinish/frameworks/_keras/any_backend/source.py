"""Keras 2 code for a graph, as text, without an operation of the backend's own: what a layer of Keras does not have is
written in keras.backend, in a Lambda. What one backend must have otherwise stands in its own file beside this one."""

from typing import ClassVar, Dict, List, Optional, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import native_axes, native_shape
from photofinish.frameworks._common.text import call, square, write
from photofinish.frameworks._common.windows import Amounts, shares
from photofinish.frameworks._keras.depthwise import is_depthwise
from photofinish.frameworks._keras.keras2 import HELPERS as LAYERS
from photofinish.frameworks._keras.keras2 import MADE, Module2, Writer2
from photofinish.frameworks._keras.keras2 import RULES as ON_TENSORFLOW
from photofinish.frameworks._keras.source import function
from photofinish.frameworks._keras.use import Printed, Rules, Use
from photofinish.frameworks._keras.windows import padding, zero_padding
from photofinish.graph import Graph, Loss
from photofinish.layers import Shape
from photofinish.optimizers import SGD, Adam, Optimizer

UNWRITTEN = "nobody has written it for Keras 2"


def in_lambda(expression: str, shape: Shape) -> str:
    """A layer of operations on `x`; Theano does not find the shape of what comes out by itself."""
    return "layers.Lambda(lambda x: {}, {})({{0}})".format(expression, tuple(shape))


def _symmetric(use: Use, amounts: Amounts) -> bool:
    """Whether Keras' "same" means this padding on every backend: elsewhere each has a rule of its own."""
    return set(use.layer.stride) == {1} and all(first == last for first, last in amounts)


def _conv(use: Use) -> Printed:
    layer = use.layer
    depthwise, dilated = is_depthwise(layer, use.spec), max(layer.dilation) > 1
    if layer.groups > 1 and not depthwise:
        raise Unsupported("{}: Keras 2 has no convolution in groups until 2.3".format(use.name))
    if depthwise and dilated:
        raise Unsupported("{}: Keras 2 has no dilated depthwise convolution until 2.3".format(use.name))
    same, amounts = padding(use, layer.dilation)
    same = same if _symmetric(use, amounts) else None
    thinned = dilated and max(layer.stride) > 1  # Keras will not do both
    options = {"strides": None if thinned else square(layer.stride, 1), "padding": same,
               "dilation_rate": square(layer.dilation, 1), "use_bias": None if layer.bias else False}
    if depthwise:
        multiplier = layer.channels // layer.groups
        body = use.keras("DepthwiseConv2D", square(layer.kernel),
                         depth_multiplier=multiplier if multiplier > 1 else None, **options)
    else:
        body = use.keras("Conv2D", layer.channels, square(layer.kernel), **options)
    kept = [in_lambda("x[:, ::{}, ::{}]".format(*layer.stride), native_shape(use.out))] if thinned else []
    return ([] if same else zero_padding(use, amounts)) + [body] + kept


def _conv_transpose(use: Use) -> Printed:
    layer = use.layer
    body = use.keras("Conv2DTranspose", layer.channels, square(layer.kernel), strides=square(layer.stride, 1),
                     use_bias=None if layer.bias else False)
    more = [max(0, stride - kernel) for kernel, stride in zip(layer.kernel, layer.stride)]  # Keras fills the stride
    ends = tuple((layer.padding[axis], layer.padding[2 + axis] + more[axis]) for axis in (0, 1))
    return [body, *([call("layers.Cropping2D", ends, name=use.name + ".cropping") + "({0})"] if np.any(ends) else [])]


def _sequence_conv(use: Use) -> Printed:
    layer, length = use.layer, use.spec.size("T")
    if layer.groups > 1:
        raise Unsupported("{}: Keras 2 has no convolution of a sequence in groups".format(use.name))
    before = layer.padding[0]
    after = max(0, (use.out.size("T") - 1) * layer.stride + layer.kernel - before - length)
    padded = [call("layers.ZeroPadding1D", (before, after), name=use.name + ".padding") + "({0})"]
    body = use.keras("Conv1D", layer.channels, layer.kernel, strides=layer.stride if layer.stride > 1 else None,
                     use_bias=None if layer.bias else False)
    return [*(padded if before or after else []), body]


def _max_pool(use: Use) -> Printed:
    """What is padded with zeros is then made less than all else: inside, the constant adds nothing."""
    _, amounts = padding(use)
    pool = use.keras("MaxPooling2D", square(use.layer.kernel), strides=square(use.layer.stride))
    if not np.any(amounts):
        return [pool]
    height, width = (use.spec.size(axis) + sum(amount) for axis, amount in zip("HW", amounts))
    lowest = "x + border({}, {}, {}, {})".format(use.spec.size("H"), use.spec.size("W"), *amounts)
    return [*zero_padding(use, amounts), in_lambda(lowest, (height, width, use.spec.size("C"))), pool]


def _average_pool(use: Use) -> Printed:
    """Keras divides by the whole window, padding included; the divisors are put right at the edges."""
    _, amounts = padding(use)
    down, across = shares(use.layer, use.spec, use.out)
    pool = use.keras("AveragePooling2D", square(use.layer.kernel), strides=square(use.layer.stride))
    if set(down + across) == {1.0}:
        return [*zero_padding(use, amounts), pool]
    edges = "x * keras.backend.constant(np.outer({}, {})[..., None])".format(down, across)
    return [*zero_padding(use, amounts), pool, in_lambda(edges, native_shape(use.out))]


def _adaptive_average_pool(use: Use) -> Printed:
    sizes, counts = (use.spec.size("H"), use.spec.size("W")), tuple(use.layer.size)
    if sizes == counts or not any(size % count for size, count in zip(sizes, counts)):
        return ON_TENSORFLOW[layers.AdaptiveAveragePool](use)
    return [in_lambda("binned(x, bins({}, {}), bins({}, {}))".format(sizes[0], counts[0], sizes[1], counts[1]),
                      native_shape(use.out))]


def _part(use: Use, start: int, stop: int) -> str:
    axes = native_axes(use.spec.axes)
    return "x[{}{}:{}]".format(":, " * (1 + axes.index(use.layer.axis)), start, stop)


def _slice(use: Use) -> Printed:
    return [in_lambda(_part(use, use.layer.start, use.layer.stop), native_shape(use.out))]


def _select(use: Use) -> Printed:
    axes, index = native_axes(use.spec.axes), use.layer.index
    kept = tuple(1 if axis == use.layer.axis else use.spec.size(axis) for axis in axes)
    return [in_lambda(_part(use, index, index + 1), kept), use.keras("Reshape", native_shape(use.out))]


def _local_response_norm(use: Use) -> Printed:
    layer = use.layer
    return [call("LocalResponseNorm", layer.size, layer.alpha, layer.beta, layer.bias, name=use.name) + "({0})"]


_AS_ON_TENSORFLOW = (
    layers.Relu, layers.Clip, layers.Sigmoid, layers.Tanh, layers.LeakyRelu, layers.Elu, layers.Dropout,
    layers.StochasticDepth, layers.RowsToSequence, layers.Add, layers.Multiply, layers.Concat, layers.Flatten,
    layers.Pad, layers.ImageToSequence, layers.BatchNorm, layers.Linear, layers.Embedding, layers.GlobalAveragePool,
    layers.LSTM, layers.GRU)
RULES: Rules = {kind: ON_TENSORFLOW[kind] for kind in _AS_ON_TENSORFLOW}
RULES.update({
    layers.Swish: lambda use: [in_lambda("x * keras.backend.sigmoid(x)", native_shape(use.out))],
    layers.Scale: lambda use: [in_lambda("{!r} * x".format(use.layer.factor), native_shape(use.out))],
    layers.Conv: _conv,
    layers.ConvTranspose: _conv_transpose,
    layers.SequenceConv: _sequence_conv,
    layers.EmbeddingBag: lambda use: [ON_TENSORFLOW[layers.Embedding](use)[0],
                                      in_lambda("keras.backend.sum(x, axis=1)", native_shape(use.out))],
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.Slice: _slice,
    layers.Select: _select,
    layers.LocalResponseNorm: _local_response_norm,
})
LOWERED = {
    layers.Swish: "a product and a sigmoid in a Lambda",
    layers.EmbeddingBag: "an Embedding, which writes every row out, then a sum",
    layers.LocalResponseNorm: "a sum of slices",
}
LIMITS = {
    layers.Conv: "none in groups, but for depthwise ones, which are not dilated; padding that differs by side, or with "
                 "strides, is put there by ZeroPadding2D",
    layers.ConvTranspose: "the border is cut off afterwards, by Cropping2D",
    layers.SequenceConv: "none in groups; padding is put there by ZeroPadding1D",
    layers.Clip: "between 0 and 6",
    layers.MaxPool: "padding is put there by ZeroPadding2D, and made the least by a sum",
    layers.AveragePool: "padding is put there by ZeroPadding2D and divided out by a constant",
    layers.AdaptiveAveragePool: "where the bins are not equal, two matrix products in a Lambda",
    layers.LSTM: "with one bias",
}
LOSSES = {
    layers.SoftmaxCrossEntropy: "written in keras.backend: Keras' own takes probabilities, and cuts them off at 1e-7",
    layers.BinaryCrossEntropy: "softplus and a product: Keras' own cuts probabilities off at 1e-7",
}

HELPERS = {
    **LAYERS,
    "binned": '''
def binned(x, rows, columns):
    """Means of bins that may overlap, as two matrix products."""
    backend = keras.backend
    rows, columns = (backend.constant(each, shape=each.shape) for each in (rows, columns))
    y = backend.dot(backend.permute_dimensions(x, (0, 3, 2, 1)), rows)
    y = backend.dot(backend.permute_dimensions(y, (0, 1, 3, 2)), columns)
    return backend.permute_dimensions(y, (0, 2, 3, 1))
''',
    "border": '''
def border(height, width, rows, columns):
    """Zeros where an image is, and around it what is less than all else."""
    inside = np.zeros((height, width, 1))
    return keras.backend.constant(np.pad(inside, (rows, columns, (0, 0)), "constant", constant_values=-3e38))
''',
    "LocalResponseNorm": '''
class LocalResponseNorm(layers.Layer):
    """Divides by a power of the mean square of the channels around."""

    def __init__(self, size, alpha, beta, bias, **options):
        super().__init__(**options)
        self.size, self.alpha, self.beta, self.bias = size, alpha, beta, bias

    def call(self, x):
        backend, channels = keras.backend, keras.backend.int_shape(x)[-1]
        squares, reach = backend.square(x), (self.size - 1) // 2
        beyond = backend.zeros_like(x)
        before, after = -(-reach // channels), -(-self.size // channels)  # so many times as wide as what is normalised
        squares = backend.concatenate([beyond] * before + [squares] + [beyond] * after)
        first = channels * before - reach
        total = sum(squares[:, :, :, first + i:first + i + channels] for i in range(self.size))
        return x * backend.exp(-self.beta * backend.log(self.bias + self.alpha / self.size * total))
''',
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1); Keras adds it before. The corrections,
    1 - beta ** step, are kept and grow with the steps: as powers float32 has them to 1e-5."""

    def __init__(self, rate, beta1, beta2, epsilon):
        super().__init__(lr=rate, beta_1=beta1, beta_2=beta2, epsilon=epsilon)
        self.rate, self.betas = rate, (beta1, beta2)
        self.corrections = [keras.backend.variable(0.0) for _ in self.betas]

    def get_updates(self, loss, params):
        backend, (beta1, beta2) = keras.backend, self.betas
        means, squares = ([backend.zeros(backend.int_shape(p)) for p in params] for _ in range(2))
        grown = [beta * kept + (1 - beta) for beta, kept in zip(self.betas, self.corrections)]
        self.weights = [self.iterations] + means + squares + self.corrections
        self.updates = [backend.update_add(self.iterations, 1), *map(backend.update, self.corrections, grown)]
        for p, g, m, s in zip(params, self.get_gradients(loss, params), means, squares):
            mean = beta1 * m + (1 - beta1) * g
            square = beta2 * s + (1 - beta2) * backend.square(g)
            change = mean / grown[0] / (backend.sqrt(square / grown[1]) + self.epsilon)
            self.updates += [backend.update(m, mean), backend.update(s, square),
                             backend.update(p, p - self.rate * change)]
        return self.updates
''',
    "cross_entropy": '''
def cross_entropy(labels, logits, classes, smoothing=0.0, ignored=None):
    """Of numbered classes, which have an axis of their own; positions whose label is `ignored` count for nothing, the
    others so much more that the mean is theirs. Keras' own cuts probabilities off at 1e-7."""
    backend, counted = keras.backend, None
    if ignored is not None:
        counted = backend.cast(backend.not_equal(labels, ignored), "float32")
        labels = labels * counted
    shifted = logits - backend.stop_gradient(backend.max(logits, axis=-1, keepdims=True))
    logarithms = shifted - backend.log(backend.sum(backend.exp(shifted), axis=-1, keepdims=True))
    wanted = backend.reshape(backend.one_hot(backend.cast(labels, "int32"), classes), backend.shape(logits))
    if smoothing:
        wanted = (1 - smoothing) * wanted + smoothing / classes
    each = -backend.sum(wanted * logarithms, axis=-1)
    return each if counted is None else each * backend.sum(counted, axis=-1) / backend.mean(counted)
''',
    "binary_cross_entropy": '''
def binary_cross_entropy(labels, logits):
    """Keras' own cuts probabilities off at 1e-7."""
    return keras.backend.softplus(logits) - labels * logits
''',
}


class BackendWriter(Writer2):
    """Prints layers of Keras, and nothing beside them but keras.backend."""

    rules: ClassVar[Rules] = RULES

    def expressions(self, use: Use) -> Printed:
        found = self.rules[type(use.layer)](use)
        assert all(map(MADE.match, found)), found  # whatever is written here makes a layer and calls it
        return found


class BackendModule(Module2):
    """A printed module for one backend, by Keras' own trainer."""

    writes = BackendWriter
    imports = (("keras.", "import keras"), ("layers.", "from keras import layers"), ("np.", "import numpy as np"))
    own: ClassVar[Dict[str, str]] = {}  # helpers of the backend's

    def helpers(self) -> Dict[str, str]:
        return {**HELPERS, **self.own}


def written(module: BackendModule, graph: Graph, optimizer: Optional[Optimizer]) -> str:
    """The text of a module with `model` and `infer`, and `train_step` unless the optimizer is None or the graph has no
    loss. Raises Unsupported, naming the layer."""
    for name, spec in graph.inputs:
        if not spec.axes:
            raise Unsupported("{}: Keras' trainer puts an axis to single values".format(name))
    if graph.losses and optimizer is not None:
        module.parts += _trained(module, graph, optimizer)
    found = "{}.predict_on_batch({})".format(module.inference, module.argument)
    module.parts.append(function("infer", module.inputs, [
        "return " + (found if len(module.inferred) > 1 else "[{}]".format(found))]))
    return module.text("A Keras model, compiled to be trained")


def _trained(module: BackendModule, graph: Graph, optimizer: Optimizer) -> List[str]:
    terms = {term.prediction: term for term in graph.losses}
    if len(terms) < len(graph.losses):
        raise Unsupported("Keras' trainer takes one loss of an output at most")
    judged = [terms[name] for name in module.wanted if name in terms]
    weights = [float(terms[name].weight) if name in terms else 1.0 for name in module.wanted]
    losses = ", ".join(_loss(terms[name], graph) if name in terms else "None" for name in module.wanted)
    lines = ["optimizer={},".format(_optimizer(optimizer)), "loss=[{}],".format(losses)]
    lines += ["loss_weights={!r},".format(weights)] if set(weights) != {1.0} else []
    labels = ", ".join(module.writer.variables[term.target] + ("[..., None]" if numbered(term) else "")
                       for term in judged)
    step = "return model.train_on_batch({}, [{}]){}".format(
        module.argument, labels, "[0]" if len(module.wanted) > 1 else "")
    return ["model.compile(\n{})\n".format("".join("    {}\n".format(line) for line in lines)),
            function("train_step", module.inputs + module.targets, [step])]


def numbered(term: Loss) -> bool:
    """Whether its labels are numbers of classes, which Keras takes with an axis of their own."""
    return isinstance(term.layer, layers.SoftmaxCrossEntropy)


def _loss(term: Loss, graph: Graph) -> str:
    if isinstance(term.layer, layers.BinaryCrossEntropy):
        return "lambda labels, logits: binary_cross_entropy(labels, logits)"
    if not isinstance(term.layer, layers.SoftmaxCrossEntropy):
        raise Unsupported("the loss {} has no form in Keras 2 here".format(type(term.layer).__name__))
    return "lambda labels, logits: " + write(
        "cross_entropy", "labels", "logits", graph.spec(term.prediction).size("C"),
        smoothing=term.layer.label_smoothing or None, ignored=term.layer.ignore)


def _optimizer(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("keras.optimizers.SGD", lr=optimizer.learning_rate, momentum=float(optimizer.momentum))
    if isinstance(optimizer, Adam):
        return call("Adam", optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon)
    raise Unsupported("no Keras optimizer for {}".format(type(optimizer).__name__))


def level(kind: type, lowered: Dict[type, str], limits: Dict[type, str]) -> Tuple[str, str]:
    """What a backend makes of a layer, and how or why not: as all do, but for what is its own."""
    if kind not in RULES and kind not in LOSSES:
        return "absent", UNWRITTEN
    if kind in lowered or kind in LOWERED:
        return "lowered", lowered.get(kind) or LOWERED[kind]
    return "native", limits.get(kind) or LIMITS.get(kind) or LOSSES.get(kind, "")
