"""Data parallel over processes, each with a device of its own, which jax.distributed brings together (over gloo)."""

from typing import Any, Callable, Dict, List, Tuple

import jax
import numpy as np
from jax.experimental import multihost_utils

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks._flax.source import native_source
from photofinish.frameworks._jax import profile
from photofinish.frameworks._jax.rank import Rank
from photofinish.frameworks._ranks.meeting import find, leave, own_address
from photofinish.frameworks._ranks.traced import traced
from photofinish.values import TracedStep

__all__ = ["Contestant", "native_source"]


class Contestant(Rank):
    """One of `setup.world` processes, which all do the same at the same time."""

    def _connect(self, setup: Setup) -> None:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        if setup.rank == 0:
            leave(setup, own_address())
        first = find(setup, 0)
        jax.distributed.initialize(first, setup.world, setup.rank, coordinator_bind_address=first)

    def facts(self) -> Dict[str, Any]:
        return dict(super().facts(), backend=jax.config.jax_cpu_collectives_implementation)

    def feed(self, arrays: Arrays) -> Tuple[Any, ...]:
        return super().feed(part_of(arrays, self.setup))

    def agreed(self, done: bool) -> bool:
        return bool(multihost_utils.broadcast_one_to_all(np.array(done)))

    def trace(self, step: Callable[[Any], Any], batches: List[Any]) -> List[TracedStep]:
        """By JAX's profiler: every gradient is sent, and the loss."""
        return traced(self, profile, step, batches, (self.graph.parameter_count + 1) * self.dtype.itemsize)
