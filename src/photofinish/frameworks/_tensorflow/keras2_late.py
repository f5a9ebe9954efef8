"""TensorFlow 2.11 to 2.15, whose Keras was still Keras 2: its optimizers, with their slots, have moved to `legacy`."""

from typing import Optional

from photofinish.frameworks._keras.keras2_source import keras2_source
from photofinish.frameworks._keras.source import PLAIN
from photofinish.frameworks._tensorflow import keras2
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]


def native_source(graph: Graph, optimizer: Optional[Optimizer] = PLAIN, mode: str = "graph") -> str:
    """As of TensorFlow 2.10, with the optimizers it had."""
    return keras2_source(graph, optimizer, mode).replace("keras.optimizers.", "keras.optimizers.legacy.")


class Contestant(keras2.Contestant):
    """Runs what is written as the mode says."""

    source = staticmethod(native_source)
