"""One process of TensorFlow that trains a model under a tf.distribute.Strategy: what all strategies have in common.

The model and the steps are those of one process, made in the strategy's scope and run by it on each replica, as
TensorFlow's guide to custom training has it: a replica's loss is its share of that of the whole batch, and Keras'
optimizer sums gradients. Each replica moves its own running statistics; those of the first are read.
"""

from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from photofinish.frameworks import Arrays, Setup
from photofinish.frameworks._common import on_tensorflow
from photofinish.frameworks.tensorflow import Contestant as Alone
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

RANDOM = "seed_generator_state"  # what Keras calls the variable that a random layer draws from


class Rank(Alone):
    """A subclass makes the strategy, and hands each replica its part of a batch."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.strategy = self._strategy(setup)

    def _strategy(self, setup: Setup) -> Any:
        """Made before TensorFlow starts."""
        raise NotImplementedError

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), strategy=type(self.strategy).__name__,
                    replicas=self.strategy.num_replicas_in_sync)

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        super().build(graph, batch // self.setup.world, optimizer)

    def _release(self) -> None:
        """Nothing: what is mirrored cannot be put away by its handle."""

    def _make(self, shipped: str) -> None:
        with self.strategy.scope():
            super()._make(shipped)
        self._draw_apart()
        infer = self.native["infer"].python_function
        self.native["infer"] = tf.function(lambda *inputs: self.strategy.run(infer, inputs))
        if "loss_of" in self.native:
            self.native["loss_of"] = self._share(self.native["loss_of"])
            self.native["gradients"] = self._whole_gradients(self.native["loss_of"])
        if "train_step" in self.native:
            step = self.native["train_step"].python_function
            self.native["train_step"] = tf.function(lambda *batch: self._sum(self.strategy.run(step, batch)))

    def _draw_apart(self) -> None:
        """Replicas start as copies of one, which would drop the same places of their parts of a batch."""
        for variable in self.model.variables:
            if variable.path.endswith(RANDOM):
                for number, own in enumerate(self.strategy.experimental_local_results(variable.value)):
                    own.assign_add([self.setup.rank + number, 0])

    def _share(self, loss_of: Callable[..., Any]) -> Callable[..., Any]:
        replicas = self.strategy.num_replicas_in_sync
        return lambda *given: loss_of(*given) / replicas

    def _sum(self, of_each: Any) -> Any:
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, of_each, axis=None)

    def _whole_gradients(self, loss_of: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        own = on_tensorflow.differentiated(tf, self.model, lambda outputs, labels: loss_of(outputs, *labels))

        def gradients(x: Any, labels: Any) -> Tuple[Any, Any, List[Any]]:
            loss, outputs, found = self.strategy.run(own, (x, labels))
            return self._sum(loss), outputs, [self._sum(each) for each in found]
        return self._in_mode(gradients)

    def read(self, handle: Any) -> Arrays:
        """The loss, or the outputs of the whole batch."""
        if isinstance(handle, dict):
            handle = {name: self.strategy.gather(each, axis=0) for name, each in handle.items()}
        return super().read(handle)

    def each(self) -> Iterator[Tuple[str, np.ndarray]]:
        self._follow()
        return super().each()

    def _settle(self) -> None:
        self._follow()
        super()._settle()

    def _follow(self) -> None:
        """All go on from the running statistics of the first replica."""
        for name, place in self.places.items():
            if name.startswith("state/"):
                place.variable.assign(self._first(place.variable.numpy()))

    def _first(self, values: np.ndarray) -> np.ndarray:
        """What the first replica has, of what this process has."""
        raise NotImplementedError
