"""TensorFlow's input pipeline: tf.data over tensors in memory, shuffled whole, batched and prefetched."""

from typing import Any, Dict, Iterator

import numpy as np
import tensorflow as tf


class Pipeline:
    """The whole set lies in tensors of the model's layout before the first epoch: in the host's memory, where tf.data
    works whatever device trains."""

    def __init__(self, contestant: Any, samples: Dict[str, np.ndarray], batch: int, seed: int) -> None:
        self.contestant = contestant
        self.batch = batch
        self.short: Any = None
        with tf.device("CPU:0"):
            tensors = contestant.feed(samples)
        data = tf.data.Dataset.from_tensor_slices(tensors).shuffle(len(tensors[0]), seed=seed)
        self.data = data.batch(batch).prefetch(tf.data.AUTOTUNE)

    def batches(self) -> Iterator[Any]:
        return iter(self.data)

    def step(self, batch: Any) -> Any:
        """The contender is bound to the trace of its own batch; a shorter one has another, made when it first comes."""
        if batch[0].shape[0] == self.batch:
            return self.contestant.train_step(batch)
        if self.short is None:
            mode = self.contestant.mode
            self.short = mode.bind(self.contestant, "train_step", mode.specs(batch))
        return self.short(*batch)
