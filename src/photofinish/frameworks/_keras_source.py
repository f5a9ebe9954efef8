"""Keras code for a graph, as text: what `show --as keras` prints and what tensorflow.py executes.

The one table from layer kinds to Keras is here. Images are laid out NHWC, as Keras users have them.
"""

import json
import keyword
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import numpy as np

from photofinish import layers
from photofinish.frameworks import Unsupported, flattened_order
from photofinish.graph import Graph, Loss, Node
from photofinish.layers import Spec
from photofinish.optimizers import SGD, Adam, Optimizer

# tf.function's options by mode; None: plain eager Python
MODES: Dict[str, Optional[Dict[str, Any]]] = {"eager": None, "graph": {}, "xla": {"jit_compile": True}}
PLAIN = SGD()


def native_axes(axes: str) -> str:
    """Channels last: "CHW" -> "HWC"."""
    return axes.replace("C", "") + "C" if "C" in axes else axes


def native_shape(spec: Spec) -> Tuple[int, ...]:
    return tuple(spec.size(axis) for axis in native_axes(spec.axes))


def feature_orders(graph: Graph) -> Dict[str, np.ndarray]:
    """Tensors whose features lie in another order than the canonical one, because an image was flattened
    channels last: native feature i is canonical feature order[i]. Absent: the canonical order.

    Only layers whose parameters can be permuted instead may see such a tensor: where another one would,
    the flattened image is transposed first (`Writer` prints a Permute) and the tensor is not in here.
    """
    fixed = {term.prediction for term in graph.losses}  # labels count classes
    shared = shared_nodes(graph)
    for node in reversed(graph.nodes):
        follows = isinstance(node.layer, (layers.Elementwise, layers.BatchNorm, layers.Flatten))
        permutable = isinstance(node.layer, layers.Linear) and owns(node) and node.name not in shared
        if not (follows or permutable) or (follows and node.outputs[0] in fixed):
            fixed.update(node.inputs)
    orders: Dict[str, np.ndarray] = {}
    for node in graph.nodes:
        (tensor, spec), target = (node.inputs[0], graph.spec(node.inputs[0])), node.outputs[0]
        if isinstance(node.layer, layers.Flatten) and len(spec.axes) > 1:
            order = flattened_order(spec.shape, spec.axes, native_axes(spec.axes))
            if target not in fixed and np.any(np.diff(order) != 1):
                orders[target] = order
        elif isinstance(node.layer, (layers.Elementwise, layers.BatchNorm, layers.Flatten)) and tensor in orders:
            orders[target] = orders[tensor]
    return orders


def owns(node: Node) -> bool:
    """True unless the node's parameters are another node's (tied weights)."""
    return all(name == "{}.{}".format(node.name, own) for own, name in node.parameters)


def shared_nodes(graph: Graph) -> Set[str]:
    """The nodes whose parameters other nodes use too."""
    names = {name for node in graph.nodes if not owns(node) for _, name in node.parameters}
    return {node.name for node in graph.nodes if names.intersection(name for _, name in node.parameters)
            and node.name in {name.rpartition(".")[0] for name in names}}


def is_depthwise(layer: layers.Conv, spec: Spec) -> bool:
    return layer.groups == spec.size("C") > 1


def _show(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def call(function: str, *arguments: Any, **options: Any) -> str:
    """The text of a call; options that are None are left out."""
    given = [_show(each) for each in arguments]
    given += ["{}={}".format(key, _show(value)) for key, value in options.items() if value is not None]
    return "{}({})".format(function, ", ".join(given))


def _square(pair: Sequence[int], default: int = 0) -> Any:
    """Keras' spelling of a size per axis: one number if they agree, None if that is the default."""
    return tuple(pair) if pair[0] != pair[1] else (pair[0] if pair[0] != default else None)


class Use:
    """One use of a layer, to be printed: its layer, specs, and name."""

    def __init__(self, graph: Graph, node: Node, name: str) -> None:
        self.layer: Any = node.layer
        self.node = node
        self.specs = graph.input_specs(node)
        self.spec = self.specs[0]
        self.out = graph.spec(node.outputs[0])
        self.name = name
        self.transposed = False  # a Flatten that must transpose first

    def keras(self, kind: str, *arguments: Any, **options: Any) -> str:
        return call("layers." + kind, *arguments, **dict(options, name=self.name)) + "({0})"

    def merge(self, kind: str, **options: Any) -> str:
        several = ", ".join("{{{}}}".format(i) for i in range(len(self.specs)))
        return call("layers." + kind, **dict(options, name=self.name)) + "([{}])".format(several)


# The table: a function per layer kind, from a use to expressions applied one after another, each to the
# result of the one before ({0}; the first has the node's inputs: {0}, {1}, ...)

Printed = List[str]
Amounts = Tuple[Tuple[int, int], Tuple[int, int]]


def _padding(use: Use, dilation: Sequence[int] = (1, 1)) -> Tuple[Optional[str], Amounts]:
    """Keras' `padding` option where it is exactly what the layer asks for, and the explicit amounts
    ((top, bottom), (left, right)) otherwise (all zero: nothing to pad).

    Trailing padding is what the windows read: rows that none reads are left out, and those that a last
    window reads beyond the layer's own padding (ceil) are put in.
    """
    amounts: List[Tuple[int, int]] = []
    same = []
    for axis, letter in enumerate("HW"):
        size, count, stride = use.spec.size(letter), use.out.size(letter), use.layer.stride[axis]
        span = (count - 1) * stride + dilation[axis] * (use.layer.kernel[axis] - 1) + 1
        first = use.layer.padding[axis]
        amounts.append((first, max(0, span - first - size)))
        total = max(0, span - size)
        same.append(count == -(-size // stride) and amounts[axis] == (total // 2, total - total // 2))
    nothing = ((0, 0), (0, 0))
    if all(same) and tuple(amounts) != nothing:
        return "same", nothing
    return None, (amounts[0], amounts[1])


def _zero_padding(use: Use, amounts: Amounts) -> Printed:
    (top, bottom), (left, right) = amounts
    if not any((top, bottom, left, right)):
        return []
    size = _square((top, left)) if (top, left) == (bottom, right) else amounts
    return [call("layers.ZeroPadding2D", size, name=use.name + ".padding") + "({0})"]


def _conv(use: Use) -> Printed:
    layer = use.layer
    depthwise = is_depthwise(layer, use.spec)
    refused = max(layer.stride) > 1 and max(layer.dilation) > 1 and not depthwise  # Keras will not do both
    same, amounts = _padding(use, layer.dilation)
    if refused and same:
        raise Unsupported("{} (Conv): strided, dilated and padded as TensorFlow's \"same\"".format(use.name))
    options = {"strides": None if refused else _square(layer.stride, 1), "padding": same,
               "dilation_rate": _square(layer.dilation, 1), "use_bias": None if layer.bias else False}
    kernel = _square(layer.kernel)
    if depthwise:
        multiplier = layer.channels // layer.groups
        body = use.keras("DepthwiseConv2D", kernel, depth_multiplier=multiplier if multiplier > 1 else None, **options)
    else:  # grouped convolutions Keras compiles with XLA on the CPU, in every mode
        body = use.keras("Conv2D", layer.channels, kernel, groups=layer.groups if layer.groups > 1 else None, **options)
    thinned = ["{{0}}[:, ::{}, ::{}]".format(*layer.stride)] if refused else []
    return _zero_padding(use, amounts) + [body] + thinned


def _max_pool(use: Use) -> Printed:
    same, amounts = _padding(use)
    pool = use.keras("MaxPooling2D", _square(use.layer.kernel), strides=_square(use.layer.stride), padding=same)
    if same or not any(amounts[0] + amounts[1]):
        return [pool]
    return ["ops.pad({{0}}, ((0, 0), {}, {}, (0, 0)), constant_values=-np.inf)".format(*amounts), pool]


def _average_pool(use: Use) -> Printed:
    layer = use.layer
    same, amounts = _padding(use)
    padded = same or any(amounts[0] + amounts[1])
    if not padded or (same and not layer.count_padding):
        return [use.keras("AveragePooling2D", _square(layer.kernel), strides=_square(layer.stride), padding=same)]
    # Keras divides by the whole window once the image is padded: put the divisors right at the edges
    shares, ends = [], []
    for axis, letter in enumerate("HW"):
        first, last, size = layer.padding[axis], layer.padding[2 + axis], use.spec.size(letter)
        starts = np.arange(use.out.size(letter)) * layer.stride[axis] - first
        stops = starts + layer.kernel[axis]
        low, high = (-first, size + last) if layer.count_padding else (0, size)
        shares.append((layer.kernel[axis] / (np.minimum(stops, high) - np.maximum(starts, low))).tolist())
        ends.append((first, max(0, int(stops[-1]) - size)))
    pool = call("layers.AveragePooling2D", _square(layer.kernel), strides=_square(layer.stride), name=use.name)
    edges = [] if set(shares[0] + shares[1]) == {1.0} else [
        "layers.Rescaling(np.outer({}, {})[..., None], name={})({{0}})".format(*shares, _show(use.name + ".edges"))]
    return _zero_padding(use, (ends[0], ends[1])) + [pool + "({0})"] + edges


def _adaptive_average_pool(use: Use) -> Printed:
    sizes, counts = (use.spec.size("H"), use.spec.size("W")), tuple(use.layer.size)
    if sizes == counts:
        return [use.keras("Identity")]
    if sizes[0] % counts[0] == 0 and sizes[1] % counts[1] == 0:
        return [use.keras("AveragePooling2D", _square((sizes[0] // counts[0], sizes[1] // counts[1])))]
    if all(-(-size // count) < size for size, count in zip(sizes, counts)):
        return [use.keras("AdaptiveAveragePooling2D", _square(counts))]
    return ['ops.einsum("bhwc,hi,wj->bijc", {{0}}, bins({}, {}), bins({}, {}))'.format(
        sizes[0], counts[0], sizes[1], counts[1])]


def _global_average_pool(use: Use) -> Printed:
    if use.spec.axes not in ("CHW", "TC"):
        raise Unsupported("{} (GlobalAveragePool): no Keras layer for axes {}".format(use.name, use.spec.axes))
    kind = {"CHW": "GlobalAveragePooling2D", "TC": "GlobalAveragePooling1D"}[use.spec.axes]
    return [use.keras(kind, keepdims=True if use.layer.keep_axes else None)]


def _clip(use: Use) -> Printed:
    if (use.layer.low, use.layer.high) == (0, 6):
        return [use.keras("ReLU", 6.0)]
    return ["clip({{0}}, {!r}, {!r})".format(use.layer.low, use.layer.high)]


def _concat(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    position = 1 + axes.index(use.layer.axis)
    return [use.merge("Concatenate", axis=position if position < len(axes) else None)]


def _flatten(use: Use) -> Printed:
    axes = native_axes(use.spec.axes)
    order = tuple(1 + axes.index(axis) for axis in use.spec.axes)
    permute = [call("layers.Permute", order, name=use.name + ".canonical") + "({0})"] if use.transposed else []
    return permute + [use.keras("Flatten")]


def _scan(use: Use) -> Printed:
    body = use.layer.body
    if body.state:
        raise Unsupported("{} (Scan): a body with state of its own".format(use.name))
    axes = [spec.axes for _, spec in body.inputs] + [body.spec(name).axes for name in body.outputs]
    if axes != ["C"] * 4:
        raise Unsupported("{} (Scan): Keras' RNN carries and steps vectors (C), not {}".format(use.name, axes))
    cell = "ScanCell({}())".format(identifier(use.name + ".step"))
    return ["layers.RNN({}, return_sequences=True, return_state=True, name={})({{1}}, initial_state=[{{0}}])[::-1]"
            .format(cell, _show(use.name))]


TABLE: Dict[type, Callable[[Use], Printed]] = {
    layers.Conv: _conv,
    layers.Linear: lambda use: [use.keras("Dense", use.layer.features, use_bias=None if use.layer.bias else False)],
    layers.BatchNorm: lambda use: [use.keras(
        "BatchNormalization", momentum=use.layer.momentum, epsilon=use.layer.epsilon,
        center=None if use.layer.center else False, scale=None if use.layer.scale else False)],
    layers.Relu: lambda use: [use.keras("ReLU")],
    layers.Clip: _clip,
    layers.Sigmoid: lambda use: [use.keras("Activation", "sigmoid")],
    layers.Tanh: lambda use: [use.keras("Activation", "tanh")],
    layers.Swish: lambda use: [use.keras("Activation", "silu")],
    layers.Dropout: lambda use: [use.keras("Dropout", use.layer.rate)],
    layers.StochasticDepth: lambda use: [use.keras(
        "Dropout", use.layer.rate, noise_shape=(None,) + (1,) * len(use.spec.axes))],
    layers.MaxPool: _max_pool,
    layers.AveragePool: _average_pool,
    layers.AdaptiveAveragePool: _adaptive_average_pool,
    layers.GlobalAveragePool: _global_average_pool,
    layers.Flatten: _flatten,
    layers.Add: lambda use: [use.merge("Add")],
    layers.Multiply: lambda use: [use.merge("Multiply")],
    layers.Concat: _concat,
    layers.Embedding: lambda use: [use.keras("Embedding", use.layer.vocabulary, use.layer.features)],
    layers.MaskedMean: lambda use: [call("layers.GlobalAveragePooling1D", name=use.name) + "({0}, mask={1})"],
    layers.Scan: _scan,
}


# What Keras lacks, printed above the model where it is used

HELPERS = {
    "clip": '''
def clip(x, low, high):
    """As ops.clip, but no gradient flows at the bounds themselves."""
    inside = ops.logical_and(x > low, x < high)
    return ops.where(inside, x, ops.stop_gradient(ops.clip(x, low, high)))
''',
    "bins": '''
def bins(size, count):
    """Column i averages bin i of an adaptive pool. Keras' own layer fails where a bin is as long as the axis."""
    matrix = np.zeros((size, count), keras.config.floatx())
    for i in range(count):
        start, stop = i * size // count, -(-(i + 1) * size // count)
        matrix[start:stop, i] = 1 / (stop - start)
    return matrix
''',
    "TiedDense": '''
class TiedDense(layers.Layer):
    """A matrix product with the kernel of another layer, or the transposed table of an embedding."""

    def __init__(self, units, source, use_bias=True, **options):
        super().__init__(**options)
        self.source = source
        self.bias = self.add_weight(shape=(units,), initializer="zeros", name="bias") if use_bias else None

    def call(self, x):
        tied = self.source
        y = ops.matmul(x, ops.transpose(tied.embeddings) if isinstance(tied, layers.Embedding) else tied.kernel)
        return y if self.bias is None else y + self.bias
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
    "smoothed_cross_entropy": '''
def smoothed_cross_entropy(labels, logits, smoothing):
    other = smoothing / logits.shape[-1]
    wanted = tf.one_hot(labels, logits.shape[-1], 1 - smoothing + other, other, dtype=logits.dtype)
    return tf.nn.softmax_cross_entropy_with_logits(wanted, logits)
''',
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1); Keras adds it before."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        mean, square = self._momentums[index], self._velocities[index]
        gradient = tf.convert_to_tensor(gradient)
        step = tf.cast(self.iterations + 1, tf.float64)  # in float32, 1 - 0.999 is off by 1e-5
        correction = tf.sqrt(1 - tf.constant(self.beta_2, tf.float64) ** step)
        rate = tf.cast(learning_rate, tf.float64) * correction / (1 - tf.constant(self.beta_1, tf.float64) ** step)
        mean.assign_add((gradient - mean) * (1 - self.beta_1))
        square.assign_add((gradient * gradient - square) * (1 - self.beta_2))
        epsilon = tf.cast(self.epsilon * correction, variable.dtype)
        variable.assign_sub(tf.cast(rate, variable.dtype) * mean / (tf.sqrt(square) + epsilon))
''',
}
IMPORTS = (("keras.", "import keras"), ("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"),
           ("layers.", "from keras import layers"), ("ops.", "from keras import ops"))
RESERVED = set(HELPERS) | {
    "x", "GRAPH", "keras", "layers", "ops", "np", "tf", "build", "model", "inference", "optimizer", "loss_of",
    "train_step", "infer", "outputs", "loss", "tape", "gradients", "values", "variable"}


def identifier(name: str) -> str:
    """A Python name for a tensor or scope."""
    word = re.sub(r"\W", "_", name)
    if word in RESERVED or keyword.iskeyword(word):
        return word + "_"
    return "_" + word if word[0].isdigit() else word


class Writer:
    """Prints the layers of a graph, one line each. `prefix` comes before the names of its layers."""

    def __init__(self, graph: Graph, prefix: str = "") -> None:
        self.graph = graph
        self.prefix = prefix
        self.orders = feature_orders(graph)
        self.variables = self._variables()
        self.shared = shared_nodes(graph)
        self.bodies: List[str] = []  # the functions that make the steps of scans

    def _variables(self) -> Dict[str, str]:
        """A tensor that only the next node reads is called x; the others have their own names."""
        readers: Dict[str, List[int]] = {}
        for position, node in enumerate(self.graph.nodes):
            for tensor in node.inputs:
                readers.setdefault(tensor, []).append(position)
        kept = set(self.graph.outputs) | {term.prediction for term in self.graph.losses}
        names, taken = {}, set()  # type: Dict[str, str], Set[str]
        passing = {node.outputs[0] for position, node in enumerate(self.graph.nodes)
                   if len(node.outputs) == 1 and node.outputs[0] not in kept
                   and readers.get(node.outputs[0]) == [position + 1]}
        for tensor in self.graph.specs:
            word = "x" if tensor in passing else identifier(tensor)
            while word in taken:
                word += "_"
            taken.update({word} - {"x"})
            names[tensor] = word
        return names

    def input_lines(self) -> List[str]:
        """One Input per graph input; floating types are left to Keras' global setting."""
        return ["{} = {}".format(self.variables[name], call(
            "keras.Input", native_shape(spec), dtype=None if spec.dtype.startswith("float") else spec.dtype,
            name=self.prefix + name)) for name, spec in self.graph.inputs]

    def node_lines(self) -> List[str]:
        lines, scope = [], ""
        for node in self.graph.nodes:
            here = node.name.rpartition(".")[0]
            lines += [""] if here != scope else []
            scope = here
            lines += self._node(node)
        return lines

    def _node(self, node: Node) -> List[str]:
        if type(node.layer) not in TABLE:
            raise Unsupported("{}: Keras has no {} here".format(node.name, type(node.layer).__name__))
        use = Use(self.graph, node, self.prefix + node.name)
        use.transposed = isinstance(node.layer, layers.Flatten) and node.outputs[0] not in self.orders and bool(
            np.any(np.diff(flattened_order(use.spec.shape, use.spec.axes, native_axes(use.spec.axes))) != 1))
        expressions = TABLE[type(node.layer)](use) if owns(node) else [self._tied(use)]
        if isinstance(node.layer, layers.Scan):
            self.bodies.append(self._step(use))
        lines = []
        if node.name in self.shared:  # named, to be used again
            made, _, arguments = expressions[-1].rpartition("(")
            lines.append("{} = {}".format(identifier(node.name + ".layer"), made))
            expressions[-1] = "{}({}".format(identifier(node.name + ".layer"), arguments)
        target = ", ".join(self.variables[name] for name in node.outputs)
        values = [self.variables[name] for name in node.inputs]
        for expression in expressions:
            lines.append("{} = {}".format(target, expression.format(*values)))
            values = [target]
        return lines

    def _tied(self, use: Use) -> str:
        """A use of weights that another layer owns."""
        sources = {name.rpartition(".")[0] for own, name in use.node.parameters
                   if name != "{}.{}".format(use.node.name, own)}
        source = next((node for node in self.graph.nodes if {node.name} == sources), None)
        if source is None:
            raise Unsupported("{}: shares weights with {}".format(use.name, " and ".join(sorted(sources))))
        made = identifier(source.name + ".layer")
        if source.layer == use.layer and all(name.rpartition(".")[0] == source.name for _, name in use.node.parameters):
            return made + "({0})"
        if isinstance(source.layer, (layers.Embedding, layers.Linear)) and isinstance(use.layer, layers.Linear):
            return "TiedDense({}, {}, use_bias={}, name={})({{0}})".format(
                use.layer.features, made, use.layer.bias, _show(use.name))
        raise Unsupported("{} ({}) cannot share a part of {} ({}) in Keras".format(
            use.name, type(use.layer).__name__, source.name, type(source.layer).__name__))

    def _step(self, use: Use) -> str:
        body = Writer(use.layer.body, use.name + ".")
        tensors = ["[{}]".format(", ".join(body.variables[name] for name in names))
                   for names in ([name for name, _ in use.layer.body.inputs], use.layer.body.outputs)]
        lines = body.input_lines() + body.node_lines() + ["return keras.Model({}, {})".format(*tensors)]
        return "".join(body.bodies) + _function(identifier(use.name + ".step"), [], lines)


def _function(name: str, arguments: Sequence[str], lines: Sequence[str], decorator: str = "") -> str:
    body = "\n".join("    " + line if line else "" for line in lines)
    return "\n{}def {}({}):\n{}\n".format(decorator + "\n" if decorator else "", name, ", ".join(arguments), body)


def _loss(term: Loss, target: str) -> str:
    if not isinstance(term.layer, layers.SoftmaxCrossEntropy):
        raise Unsupported("the loss {} has no Keras form here".format(type(term.layer).__name__))
    logits = "outputs[{}]".format(_show(term.prediction))
    each = ("smoothed_cross_entropy({}, {}, {!r})".format(target, logits, term.layer.label_smoothing)
            if term.layer.label_smoothing
            else "tf.nn.sparse_softmax_cross_entropy_with_logits({}, {})".format(target, logits))
    return ("" if term.weight == 1 else "{!r} * ".format(term.weight)) + "tf.reduce_mean({})".format(each)


def _all_reached(graph: Graph, wanted: Set[str]) -> bool:
    """True if every parameter surely has a part in one of the tensors wanted."""
    wanted = set(wanted)
    for node in reversed(graph.nodes):
        used = wanted.intersection(node.outputs)
        if node.parameters and not used:
            return False
        if isinstance(node.layer, layers.Scan):
            body = node.layer.body
            if not _all_reached(body, {inner for inner, outer in zip(body.outputs, node.outputs) if outer in used}):
                return False
        wanted.update(node.inputs if used else ())
    return True


def _gradients(graph: Graph) -> List[str]:
    if _all_reached(graph, {term.prediction for term in graph.losses}):
        return ["gradients = tape.gradient(loss, model.trainable_variables)"]
    return ["values = [variable.value for variable in model.trainable_variables]  # not all have a part in the loss",
            "gradients = tape.gradient(loss, values, unconnected_gradients=tf.UnconnectedGradients.ZERO)"]


def _optimizer(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("keras.optimizers.SGD", learning_rate=optimizer.learning_rate, momentum=float(optimizer.momentum))
    if isinstance(optimizer, Adam):
        return call("Adam", learning_rate=optimizer.learning_rate, beta_1=optimizer.beta1, beta_2=optimizer.beta2,
                    epsilon=optimizer.epsilon)
    raise Unsupported("no Keras optimizer for {}".format(type(optimizer).__name__))


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, mode: str = "graph") -> str:
    """A module with `model` and `infer`; `loss_of` where the graph has a loss; `optimizer` and `train_step`
    unless the optimizer is None. Raises Unsupported, naming the layer.
    """
    writer = Writer(graph)
    of = writer.variables
    inputs = [of[name] for name, _ in graph.inputs]
    targets = [of[name] for name, _ in graph.targets]
    argument = inputs[0] if len(inputs) == 1 else "[{}]".format(", ".join(inputs))
    only_training = {name for node in graph.nodes if node.training_only for name in node.outputs}
    wanted = list(dict.fromkeys(graph.outputs + tuple(term.prediction for term in graph.losses)))
    inferred = [name for name in graph.outputs if name not in only_training]

    def keras_model(names: Sequence[str]) -> str:
        outputs = ", ".join("{}: {}".format(_show(name), of[name]) for name in names)
        return "keras.Model({}, {{{}}})".format(argument, outputs)

    lines = writer.input_lines() + writer.node_lines()
    split = set(wanted) != set(inferred)  # inference leaves something out
    options = MODES[mode]
    decorator = "" if options is None else call("@tf.function", **options).replace("()", "")
    lines += (["training = " + keras_model(wanted), "inference = " + keras_model(inferred),
               "return training, inference"] if split else ["return " + keras_model(wanted)])
    parts = [_function("build", [], lines),
             "\n{} = build()\n".format("model, inference" if split else "model")]
    if graph.losses:
        parts.append(_function("loss_of", ["outputs"] + targets, [
            "return " + " + ".join(_loss(term, of[term.target]) for term in graph.losses)]))
    if graph.losses and optimizer is not None:
        parts.append("\noptimizer = {}\noptimizer.build(model.trainable_variables)\n".format(_optimizer(optimizer)))
        parts.append(_function("train_step", inputs + targets, [
            "with tf.GradientTape() as tape:",
            "    loss = loss_of(model({}, training=True), {})".format(argument, ", ".join(targets)),
            *_gradients(graph),
            "optimizer.apply(gradients, model.trainable_variables)",
            "return loss"], decorator))
    parts.append(_function("infer", inputs, ["return {}({}, training=False)".format(
        "inference" if split else "model", argument)], decorator))
    text = "\n".join(writer.bodies + parts)
    helpers = "\n".join(code for name, code in HELPERS.items() if re.search(r"\b{}\(".format(name), text))
    imports = "\n".join(line for use, line in IMPORTS if use in helpers + text)
    return '"""A Keras model and its training step, printed by Photofinish."""\n\n{}\n\nGRAPH = "{}"\n\n{}{}'.format(
        imports, graph.digest, helpers + "\n" if helpers else "", text)
