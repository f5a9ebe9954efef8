"""MultiWorkerMirroredStrategy: every process has the whole model; gradients are summed when all are there.

Processes are in touch over gRPC, in a ring; TF_CONFIG says who and where they are.
"""

import json
import os
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import tensorflow as tf

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks._keras.source import native_source
from photofinish.frameworks._ranks.meeting import find, leave, own_address
from photofinish.frameworks._ranks.traced import traced
from photofinish.frameworks._tensorflow import profile
from photofinish.frameworks._tensorflow.rank import Rank
from photofinish.values import TracedStep

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """One of `setup.world` processes, which all do the same at the same time; each has one replica."""

    def _strategy(self, setup: Setup) -> Any:
        leave(setup, own_address())
        workers = [find(setup, rank) for rank in range(setup.world)]
        os.environ["TF_CONFIG"] = json.dumps(
            {"cluster": {"worker": workers}, "task": {"type": "worker", "index": setup.rank}})
        ring = tf.distribute.experimental.CommunicationOptions(
            implementation=tf.distribute.experimental.CommunicationImplementation.RING)
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=ring)

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), backend="RING over gRPC", processes=self.setup.world)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        return super().feed(part_of(arrays, self.setup))

    def trace(self, step: Callable[[Any], Any], batches: List[Any]) -> List[TracedStep]:
        """By TensorFlow's profiler: every gradient is sent, and the loss."""
        return traced(self, profile, step, batches, 4 * (self.graph.parameter_count + 1))

    def agreed(self, done: bool) -> bool:
        return bool(self._first(np.array(int(done))))

    def _first(self, values: np.ndarray) -> np.ndarray:
        return self.strategy.gather(tf.constant(values)[None], axis=0)[0].numpy()  # type: ignore[no-any-return]
