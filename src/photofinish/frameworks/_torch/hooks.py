"""What DistributedDataParallel's communication hooks make of gradients on their way: a class per value of the option.
"""

from typing import Any, Dict, Type

import torch
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

from photofinish.frameworks import Setup, Unsupported

PLAIN_STEPS = 2  # before PowerSGD begins: the least PyTorch allows, for DDP divides its buckets anew after the first


class Hook:
    """None: gradients are averaged as they are."""

    def __init__(self, setup: Setup) -> None:
        """Raises Unsupported for an option that is another hook's."""
        if "matrix_rank" in setup.options:
            raise Unsupported("matrix_rank is PowerSGD's: write hook=powersgd, or leave it out")

    def facts(self) -> Dict[str, Any]:
        return {}

    def register(self, parallel: Any) -> None:
        """In a model that DistributedDataParallel wraps."""

    def renew(self) -> None:
        """What was kept of gradients is forgotten: the weights are others."""

    @property
    def waiting(self) -> bool:
        """Whether the next gradients are averaged as they are, because it has not begun."""
        return False

    def kept(self) -> Dict[Any, Any]:
        """What this process keeps of the last gradient of each parameter for the next step, if anything."""
        return {}


class Float16(Hook):
    """Cast to float16, divided by the number of processes, added up, and cast back."""

    def facts(self) -> Dict[str, Any]:
        return {"hook": "fp16_compress_hook"}

    def register(self, parallel: Any) -> None:
        parallel.register_comm_hook(None, fp16_compress_hook)


class PowerSGD(Hook):
    """Matrices of low rank in the place of gradients that are worth it, with error feedback and a warm start (Vogels et
    al. 2019). All but the rank and the first step are as PyTorch has them."""

    def __init__(self, setup: Setup) -> None:
        if setup.options.get("layout", "contiguous") != "contiguous":
            raise Unsupported("powerSGD_hook takes contiguous gradients only: leave the layout out")
        self.rank = int(setup.options.get("matrix_rank", "1"))
        self.state = self._state()
        self.buckets: Dict[int, Any] = {}  # the parameters of each, as the hook last saw it

    def _state(self) -> Any:
        return PowerSGDState(None, matrix_approximation_rank=self.rank, start_powerSGD_iter=PLAIN_STEPS)

    def facts(self) -> Dict[str, Any]:
        return {"hook": "powerSGD_hook", "matrix_rank": self.rank, "plain_steps": PLAIN_STEPS,
                "min_compression_rate": self.state.min_compression_rate}

    def register(self, parallel: Any) -> None:
        self.state = self._state()
        parallel.register_comm_hook(self.state, self._run)

    def _run(self, state: Any, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        self.buckets[bucket.index()] = bucket.parameters()
        return powerSGD_hook(state, bucket)

    def renew(self) -> None:
        for memory in (self.state.error_dict, self.state.p_memory_dict, self.state.q_memory_dict):
            memory.clear()

    @property
    def waiting(self) -> bool:
        return bool(self.state.iter < PLAIN_STEPS)

    def kept(self) -> Dict[Any, Any]:
        found = {}
        for index, error in self.state.error_dict.items():
            own = self.buckets[index]
            parts = torch.split(error, [parameter.numel() for parameter in own])
            found.update({parameter: part.view_as(parameter) for parameter, part in zip(own, parts)})
        return found


def mean(tensor: Any) -> Any:
    """Over all processes."""
    total = tensor.clone()
    distributed.all_reduce(total)
    return total / distributed.get_world_size()


HOOKS: Dict[str, Type[Hook]] = {"": Hook, "fp16": Float16, "powersgd": PowerSGD}
