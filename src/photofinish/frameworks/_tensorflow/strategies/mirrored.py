"""MirroredStrategy: every virtual CPU of one process has the whole model; gradients are summed when all are there.

TensorFlow divides a CPU into logical devices, which share the threads of the process.
"""

from dataclasses import replace
from typing import Any, Dict, Tuple

import numpy as np
import tensorflow as tf

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks._keras.source import native_source
from photofinish.frameworks._tensorflow.rank import Rank

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """One process with `setup.world` replicas. What it feeds and infers is of each."""

    def _strategy(self, setup: Setup) -> Any:
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * setup.world)
        return tf.distribute.MirroredStrategy([each.name for each in tf.config.list_logical_devices("CPU")])

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        of_each = [super(Contestant, self).feed(part_of(arrays, replace(self.setup, rank=number)))
                   for number in range(self.setup.world)]
        return tuple(self.strategy.experimental_distribute_values_from_function(
            lambda context, parts=parts: parts[context.replica_id_in_sync_group]) for parts in zip(*of_each))

    def _bind(self, name: str, arguments: Tuple[Any, ...]) -> Any:
        if name not in self.native:
            return super()._bind(name, arguments)
        bound = self.bound[name] = self.native[name].get_concrete_function(*arguments)
        return bound

    def wait(self, handle: Any) -> None:
        for each in tf.nest.flatten(handle):
            for tensor in self.strategy.experimental_local_results(each):
                memoryview(tensor).release()

    def evidence(self) -> Dict[str, Any]:
        bound: Dict[str, Any] = self.bound
        return dict({name: {"traces": self.native[name].experimental_get_tracing_count(),
                            "graph_nodes": len(each.graph.as_graph_def().node)} for name, each in bound.items()},
                    layout="channels_last", compiled=self.mode.compiled)

    def _first(self, values: np.ndarray) -> np.ndarray:
        """A variable's own value is that of the first replica."""
        return values
