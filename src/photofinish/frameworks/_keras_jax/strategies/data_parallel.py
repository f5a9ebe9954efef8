"""Keras' own data parallelism (keras.distribution): every device of one process has the whole model and a part of each
batch. XLA divides the step of the whole batch among them, so that batch statistics are the whole batch's, too."""

from typing import Any, Dict, Optional

import jax
import keras
import numpy as np

from photofinish.frameworks import Setup, Unsupported
from photofinish.frameworks.keras_jax import Contestant as Alone
from photofinish.frameworks.keras_jax import native_source
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]


class Contestant(Alone):
    """One process with `setup.world` devices, into which XLA divides the CPU; they share its threads."""

    def __init__(self, setup: Setup) -> None:
        jax.config.update("jax_num_cpu_devices", setup.world)
        super().__init__(setup)
        self.distribution = keras.distribution.DataParallel()
        keras.distribution.set_distribution(self.distribution)

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), strategy="keras.distribution.DataParallel", devices=jax.device_count())

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        if batch % self.setup.world:
            raise Unsupported("a batch of {} cannot be shared equally by {} devices".format(batch, self.setup.world))
        super().build(graph, batch, optimizer)

    def _tensor(self, array: np.ndarray) -> Any:
        """Divided along the batch."""
        tensor = super()._tensor(array)
        return keras.distribution.distribute_tensor(tensor, self.distribution.get_data_layout(tensor.shape))
