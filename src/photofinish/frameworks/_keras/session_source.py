"""Keras 2 code for a graph that runs in sessions of TensorFlow 1: with a step of one's own (mode graph), or by Keras'
trainer (mode keras)."""

from typing import ClassVar, Dict, List, Optional, Type

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.channels_last import native_shape
from photofinish.frameworks._common.text import call, show
from photofinish.frameworks._keras.keras2 import HELPERS as LAYERS
from photofinish.frameworks._keras.keras2 import RULES, Module2, Writer2
from photofinish.frameworks._keras.source import PLAIN, Writer, function
from photofinish.frameworks._keras.use import Rules
from photofinish.graph import Graph, Loss
from photofinish.optimizers import SGD, Adam, Optimizer

TF_KERAS = (("keras.", "from tensorflow import keras"), ("layers.", "from tensorflow.keras import layers"))
KERAS = (("keras.", "import keras"), ("layers.", "from keras import layers"))
OTHERS = (("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"))
PHASE = "keras.backend.learning_phase()"
HELPERS = {
    "MomentAdam": '''
class MomentAdam(tf.train.AdamOptimizer):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1), made in double precision; TensorFlow's
    adds it before. Its moments are larger by what float32 makes of 1 - beta: the rate undoes that."""

    def __init__(self, rate, beta1, beta2, epsilon):
        super().__init__(rate, beta1, beta2, epsilon)
        self.step = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.excess = [float(np.float32(1) - np.float32(beta)) / (1 - beta) for beta in (beta1, beta2)]

    def _prepare(self):
        super()._prepare()
        step = tf.cast(self.step + 1, tf.float64)
        left = [1 - tf.constant(beta, tf.float64) ** step for beta in (self._beta1, self._beta2)]
        root = tf.sqrt(left[1] * self.excess[1])
        self._lr_t = tf.cast(self._lr * root / (left[0] * self.excess[0]), tf.float32)
        self._epsilon_t = tf.cast(self._epsilon * root, tf.float32)

    def _get_beta_accumulators(self):
        return tf.constant(0.0), tf.constant(0.0)  # nothing is left for the kernel to correct

    def _finish(self, updates, name):
        with tf.control_dependencies(updates):
            return tf.group(*updates, tf.assign_add(self.step, 1), name=name)
''',
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1), made in double precision; Keras adds
    it before."""

    def __init__(self, rate, beta1, beta2, epsilon):
        super().__init__(lr=rate, beta_1=beta1, beta_2=beta2, epsilon=epsilon)
        self.rate, self.betas = rate, (beta1, beta2)

    def get_updates(self, loss, params):
        counted = keras.backend.update_add(self.iterations, 1)
        step = tf.cast(counted, tf.float64)
        left = [1 - tf.constant(beta, tf.float64) ** step for beta in self.betas]
        rate, epsilon = (tf.cast(each, tf.float32) for each in (
            self.rate * tf.sqrt(left[1]) / left[0], self.epsilon * tf.sqrt(left[1])))
        means, squares = ([keras.backend.zeros(keras.backend.int_shape(p)) for p in params] for _ in range(2))
        self.weights = [self.iterations] + means + squares
        self.updates = [counted]
        for p, g, m, s in zip(params, self.get_gradients(loss, params), means, squares):
            mean = m + (g - m) * (1 - self.betas[0])
            square = s + (tf.square(g) - s) * (1 - self.betas[1])
            self.updates += [keras.backend.update(m, mean), keras.backend.update(s, square), keras.backend.update(
                p, p - rate * mean / (tf.sqrt(square) + epsilon))]
        return self.updates
''',
    "smoothed_cross_entropy": '''
def smoothed_cross_entropy(labels, logits, smoothing):
    classes = int(logits.shape[-1])
    wanted = tf.one_hot(labels, classes, 1 - smoothing + smoothing / classes, smoothing / classes)
    return tf.nn.softmax_cross_entropy_with_logits_v2(labels=wanted, logits=logits)
''',
}
OWN = {
    "BatchNormalization": '''
class BatchNormalization(layers.BatchNormalization):
    """Running averages go on from where they are: those of Keras itself (zero_debias) begin anew."""

    def call(self, x, training=None):
        backend, axes = keras.backend, list(range(keras.backend.ndim(x) - 1))
        normed, mean, variance = backend.normalize_batch_in_training(x, self.gamma, self.beta, axes, self.epsilon)
        self.add_update([backend.update(kept, self.momentum * kept + (1 - self.momentum) * now) for kept, now in (
            (self.moving_mean, mean), (self.moving_variance, variance))], x)
        return backend.in_train_phase(normed, lambda: backend.batch_normalization(
            x, self.moving_mean, self.moving_variance, self.beta, self.gamma, epsilon=self.epsilon), training)
''',
    "gated": '''
def gated(optimizer):
    """Every gradient of a layer before any is used: Keras itself may write a weight that is still read."""
    optimizer.get_gradients = lambda loss, weights: tf.gradients(loss, weights, gate_gradients=True)
    return optimizer
''',
}


class SessionWriter(Writer2):
    """For TensorFlow's Keras, whose Dropout takes no shape that is known in part."""

    rules: ClassVar[Rules] = {**Writer2.rules, layers.StochasticDepth: lambda use: [
        "keras.backend.in_train_phase(tf.nn.dropout({{0}}, {!r}, [tf.shape({{0}})[0]{}]), {{0}})".format(
            1 - use.layer.rate, ", 1" * len(use.spec.axes))]}


class SessionModule(Module2):
    """With TensorFlow's Keras."""

    writes: ClassVar[Type[Writer]] = SessionWriter
    imports = TF_KERAS + OTHERS
    trained_by = "{}"  # an optimizer

    def helpers(self) -> Dict[str, str]:
        return {**LAYERS, **HELPERS}


class OwnWriter(Writer2):
    """For Keras itself."""

    rules: ClassVar[Rules] = {**Writer2.rules, layers.BatchNorm: lambda use: [
        each.replace("layers.", "", 1) for each in RULES[layers.BatchNorm](use)]}


class OwnModule(SessionModule):
    """With Keras itself."""

    imports = KERAS + OTHERS
    trained_by = "gated({})"
    writes = OwnWriter

    def helpers(self) -> Dict[str, str]:
        return {**super().helpers(), **OWN}


def session_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, mode: str = "graph",
                   own_keras: bool = False) -> str:
    """A module with `model` and `infer`, and `train_step` and `loss` unless the optimizer is None or the graph has no
    loss. `own_keras`: Keras itself, not TensorFlow's. Raises Unsupported, naming the layer."""
    module = (OwnModule if own_keras else SessionModule)(graph, "")
    write = {"graph": _graph, "keras": _keras}[mode]
    module.parts += write(module, graph, optimizer if graph.losses else None)
    return module.text("A Keras model, run in a session of TensorFlow 1" if mode == "graph" else
                       "A Keras model, compiled to be trained")


def _graph(module: SessionModule, graph: Graph, optimizer: Optional[Optimizer]) -> List[str]:
    given, parts = ", ".join(module.inputs + module.targets), []
    if graph.losses:
        lines = ["{} = tf.placeholder(tf.{}, {!r}, name={})".format(
            module.writer.variables[name], spec.dtype, [None, *native_shape(spec)], show(name))
                 for name, spec in graph.targets]
        lines += ["labels = [{}]".format(", ".join(module.targets)),
                  "outputs = dict(zip({!r}, model.outputs))".format(module.wanted),
                  "loss = " + " + ".join(_loss(module, term) for term in graph.losses)]
        parts += ["\n".join(lines) + "\n"]
    if optimizer is not None:
        parts += ["\n".join(["optimizer = " + _of_tensorflow(optimizer),
                             "with tf.control_dependencies(model.updates):",
                             "    update = optimizer.minimize(loss, var_list=model.trainable_weights)", ""])]
    parts += ["session = keras.backend.get_session()\nsession.run(tf.global_variables_initializer())\n"
              "forward = session.make_callable({}.outputs, model.inputs + [{}])\n".format(module.inference, PHASE)]
    if optimizer is not None:
        parts += ["step = session.make_callable([loss, update], model.inputs + labels + [{}])\n".format(PHASE),
                  function("train_step", module.inputs + module.targets, ["return step({}, True)[0]".format(given)])]
    return parts + [function("infer", module.inputs, ["return forward({}, False)".format(", ".join(module.inputs))])]


def _loss(module: SessionModule, term: Loss) -> str:
    if not isinstance(term.layer, (layers.SoftmaxCrossEntropy, layers.BinaryCrossEntropy)) or getattr(
            term.layer, "ignore", None) is not None:
        raise Unsupported("the loss {} has no form in TensorFlow 1 here".format(type(term.layer).__name__))
    target, logits = module.writer.variables[term.target], "outputs[{}]".format(show(term.prediction))
    named = "labels={}, logits={}".format(target, logits)
    if isinstance(term.layer, layers.BinaryCrossEntropy):
        each = "tf.nn.sigmoid_cross_entropy_with_logits({})".format(named)
    elif term.layer.label_smoothing:
        each = "smoothed_cross_entropy({}, {}, {!r})".format(target, logits, term.layer.label_smoothing)
    else:
        each = "tf.nn.sparse_softmax_cross_entropy_with_logits({})".format(named)
    return ("" if term.weight == 1 else "{!r} * ".format(term.weight)) + "tf.reduce_mean({})".format(each)


def _of_tensorflow(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD) and not optimizer.momentum:
        return call("tf.train.GradientDescentOptimizer", optimizer.learning_rate)
    if isinstance(optimizer, SGD):
        return call("tf.train.MomentumOptimizer", optimizer.learning_rate, optimizer.momentum)
    if isinstance(optimizer, Adam):
        return call("MomentAdam", optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon)
    raise Unsupported("no optimizer of TensorFlow 1 for {}".format(type(optimizer).__name__))


def _keras(module: SessionModule, graph: Graph, optimizer: Optional[Optimizer]) -> List[str]:
    for name, spec in graph.inputs:
        if not spec.axes:
            raise Unsupported("{}: Keras' trainer puts an axis to single values".format(name))
    parts, several = [], len(module.wanted) > 1
    if optimizer is not None:
        terms = {term.prediction: term for term in graph.losses}
        if len(terms) < len(graph.losses):
            raise Unsupported("Keras' trainer takes one loss of an output at most")
        weights = [float(terms[name].weight) if name in terms else 1.0 for name in module.wanted]
        losses = ", ".join(_of_keras_loss(terms[name], graph) if name in terms else "None" for name in module.wanted)
        lines = ["optimizer={},".format(module.trained_by.format(_of_keras(optimizer))), "loss=[{}],".format(losses)]
        lines += ["loss_weights={!r},".format(weights)] if set(weights) != {1.0} else []
        parts += ["model.compile(\n{})\n".format("".join("    {}\n".format(line) for line in lines))]
        labels = ", ".join(module.writer.variables[terms[name].target] for name in module.wanted if name in terms)
        parts += [function("train_step", module.inputs + module.targets, [
            "return model.train_on_batch({}, [{}]){}".format(module.argument, labels, "[0]" if several else "")])]
    found = "{}.predict_on_batch({})".format(module.inference, module.argument)
    return parts + [function("infer", module.inputs, [
        "return " + (found if len(module.inferred) > 1 else "[{}]".format(found))])]


def _of_keras_loss(term: Loss, graph: Graph) -> str:
    """One for each sample: over what is more, Keras sums in some versions and averages in others."""
    if not isinstance(term.layer, layers.SoftmaxCrossEntropy) or term.layer.label_smoothing or (
            term.layer.ignore is not None):
        raise Unsupported("the loss {} has no form in Keras 2 here".format(type(term.layer).__name__))
    more = list(range(1, len(graph.spec(term.prediction).axes)))
    found = "keras.backend.sparse_categorical_crossentropy(labels, logits, from_logits=True)"
    return "lambda labels, logits: " + ("keras.backend.mean({}, {})".format(found, more) if more else found)


def _of_keras(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("keras.optimizers.SGD", lr=optimizer.learning_rate, momentum=float(optimizer.momentum))
    if isinstance(optimizer, Adam):
        return call("Adam", optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon)
    raise Unsupported("no Keras optimizer for {}".format(type(optimizer).__name__))
