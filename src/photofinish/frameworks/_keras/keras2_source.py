"""Keras 2 code for a graph as TensorFlow 2 had it: a model, and a step of one's own in eager Python, tf.function or
XLA."""

from typing import Dict, List, Optional

from photofinish import layers
from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call, show
from photofinish.frameworks._keras.keras2 import HELPERS as LAYERS
from photofinish.frameworks._keras.keras2 import Module2
from photofinish.frameworks._keras.losses import HELPERS as LOSSES
from photofinish.frameworks._keras.source import MODES, PLAIN, function
from photofinish.graph import Graph, Loss
from photofinish.optimizers import SGD, Adam, Optimizer

IMPORTS = (("keras.", "from tensorflow import keras"), ("layers.", "from tensorflow.keras import layers"),
           ("np.", "import numpy as np"), ("tf.", "import tensorflow as tf"))
HELPERS = {
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1), made in double precision; Keras adds
    it before."""

    def __init__(self, rate, beta1, beta2, epsilon):
        super().__init__(learning_rate=rate, beta_1=beta1, beta_2=beta2, epsilon=epsilon)
        self.rate, self.betas = rate, (beta1, beta2)

    def _resource_apply_dense(self, gradient, variable, apply_state=None):
        mean, square = self.get_slot(variable, "m"), self.get_slot(variable, "v")
        step = tf.cast(self.iterations + 1, tf.float64)  # in float32, 1 - 0.999 is off by 1e-5
        left = [1 - tf.constant(beta, tf.float64) ** step for beta in self.betas]
        root = tf.sqrt(left[1])
        mean.assign_add((gradient - mean) * (1 - self.betas[0]))
        square.assign_add((gradient * gradient - square) * (1 - self.betas[1]))
        rate, epsilon = tf.cast(self.rate * root / left[0], tf.float32), tf.cast(self.epsilon * root, tf.float32)
        return variable.assign_sub(rate * mean / (tf.sqrt(square) + epsilon))

    def _resource_apply_sparse(self, gradient, variable, indices, apply_state=None):
        gradient = tf.IndexedSlices(gradient, indices, variable.shape)
        return self._resource_apply_dense(tf.convert_to_tensor(gradient), variable)
''',
    **{name: LOSSES[name] for name in ("smoothed_cross_entropy", "counted_cross_entropy")},
}


class EagerModule(Module2):
    """With TensorFlow's Keras."""

    imports = IMPORTS

    def helpers(self) -> Dict[str, str]:
        return {**LAYERS, **HELPERS}


def keras2_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, mode: str = "graph") -> str:
    """A module with `model` and `infer`; `loss_of` where the graph has a loss; `optimizer` and `train_step` unless the
    optimizer is None. Raises Unsupported, naming the layer."""
    module = EagerModule(graph, mode)
    options = MODES[mode]
    decorator = "" if options is None else call("@tf.function", **options).replace("()", "")
    if graph.losses:
        module.parts.append(function("loss_of", ["outputs"] + module.targets, ["return " + " + ".join(
            _loss(module, term) for term in graph.losses)]))
    if graph.losses and optimizer is not None:
        module.parts.append("\noptimizer = {}\n".format(_written(optimizer)))
        module.parts.append(function("train_step", module.inputs + module.targets, [
            "with tf.GradientTape() as tape:",
            "    loss = loss_of({}, {})".format(_named(module.wanted, "model({}, training=True)".format(
                module.argument)), ", ".join(module.targets)),
            "gradients = tape.gradient(loss, model.trainable_variables, unconnected_gradients=\"zero\")",
            *_dense(graph, mode),
            "optimizer.apply_gradients(zip(gradients, model.trainable_variables))",
            "return loss"], decorator))
    called = "{}({}, training=False)".format(module.inference, module.argument)
    module.parts.append(function("infer", module.inputs, ["return " + _named(module.inferred, called)], decorator))
    return module.text("A Keras model and its training step")


def _dense(graph: Graph, mode: str) -> List[str]:
    """Keras looks for rows of a table that were read twice, by an operation that XLA does not have."""
    tables = any(hasattr(node.layer, "vocabulary") for node in graph.nodes)
    return ["gradients = [tf.convert_to_tensor(each) for each in gradients]"] if tables and mode == "xla" else []


def _named(names: List[str], called: str) -> str:
    """A model gives a list of several outputs, and a single one as it is."""
    return "dict(zip({!r}, {}))".format(names, called) if len(names) > 1 else "{{{}: {}}}".format(
        show(names[0]), called)


def _loss(module: EagerModule, term: Loss) -> str:
    target, logits = module.writer.variables[term.target], "outputs[{}]".format(show(term.prediction))
    layer = term.layer
    if isinstance(layer, layers.BinaryCrossEntropy):
        each = "tf.nn.sigmoid_cross_entropy_with_logits({}, {})".format(target, logits)
    elif not isinstance(layer, layers.SoftmaxCrossEntropy):
        raise Unsupported("the loss {} has no form in Keras 2 here".format(type(layer).__name__))
    elif layer.ignore is not None:
        each = "counted_cross_entropy({}, {}, {!r}, {!r})".format(target, logits, layer.label_smoothing, layer.ignore)
    elif layer.label_smoothing:
        each = "smoothed_cross_entropy({}, {}, {!r})".format(target, logits, layer.label_smoothing)
    else:
        each = "tf.nn.sparse_softmax_cross_entropy_with_logits({}, {})".format(target, logits)
    return ("" if term.weight == 1 else "{!r} * ".format(term.weight)) + "tf.reduce_mean({})".format(each)


def _written(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("keras.optimizers.SGD", learning_rate=optimizer.learning_rate, momentum=float(optimizer.momentum))
    if isinstance(optimizer, Adam):
        return call("Adam", optimizer.learning_rate, optimizer.beta1, optimizer.beta2, optimizer.epsilon)
    raise Unsupported("no Keras optimizer for {}".format(type(optimizer).__name__))
