"""Data parallel over several devices of one process, into which XLA divides the CPU; they share its threads."""

from typing import Any, Tuple

import jax

from photofinish.frameworks import Setup
from photofinish.frameworks._flax.source import native_source
from photofinish.frameworks._jax.rank import Rank

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """One process with `setup.world` devices."""

    def _connect(self, setup: Setup) -> None:
        jax.config.update("jax_num_cpu_devices", setup.world)

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        """One step at a time: devices wait for each other on the threads of one pool, and where it has as many as
        there are devices, a second step may take the thread that the first one waits for."""
        loss = super()._train(batch)
        self.wait(loss)
        return loss
