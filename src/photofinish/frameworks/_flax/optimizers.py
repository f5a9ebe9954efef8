"""Optimizers as optax has them: its Adam adds epsilon after the bias correction, as the graph's does."""

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call
from photofinish.optimizers import SGD, Adam, Optimizer

SLOTS = {"velocity": "trace", "moment1": "mu", "moment2": "nu"}  # what optax calls them


def written(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("optax.sgd", optimizer.learning_rate, momentum=optimizer.momentum or None)
    if isinstance(optimizer, Adam):
        return call("optax.adam", optimizer.learning_rate, b1=optimizer.beta1, b2=optimizer.beta2,
                    eps=optimizer.epsilon)
    raise Unsupported("no optax optimizer for {}".format(type(optimizer).__name__))

