"""PyTorch before 2.1, driven as today's: what it lacks is filled in (since.py), and the same printed source runs."""

import math
from typing import Any

import numpy as np
import torch

from photofinish.frameworks._torch.since import ADAM_ADDS_EPSILON_LAST, fill, release
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks.torch import Contestant as Present
from photofinish.optimizers import Adam

__all__ = ["Contestant", "native_source"]

fill(torch)


class Contestant(Present):
    """What an old PyTorch does otherwise."""

    def _train(self, batch: Any) -> Any:
        if isinstance(self.rule, Adam) and release(torch.__version__) < ADAM_ADDS_EPSILON_LAST:
            for group in self.optimizer.param_groups:
                group["eps"] = self.rule.epsilon * math.sqrt(1 - self.rule.beta2 ** self.steps)
        return super()._train(batch)

    def _tensor(self, array: np.ndarray) -> Any:
        """PyTorch before 1.2 has no truth values: its masks are bytes, of which `~` makes the opposite."""
        if hasattr(torch, "bool") or array.dtype.kind != "b":
            return super()._tensor(array)
        return torch.tensor(array.astype(np.uint8), device=self.device)
