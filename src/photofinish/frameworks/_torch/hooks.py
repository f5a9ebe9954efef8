"""What DistributedDataParallel's communication hooks make of gradients on their way: a class per value of the option.
"""

from typing import Any, Dict, Optional, Tuple, Type

import torch
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.algorithms.model_averaging.utils import average_parameters

from photofinish.frameworks import Setup, Unsupported

PERIOD = "4"  # steps from one mean of parameters to the next, as in PyTorch's own example
ONE_BUCKET = 10_000.0  # MiB: all gradients of a model go in one
PLAIN_STEPS = 2  # before PowerSGD begins: the least PyTorch allows, for DDP divides its buckets anew after the first


class Hook:
    """None: gradients are averaged as they are."""

    own: Tuple[str, ...] = ()  # of the options, those that only this hook knows
    bucket: Optional[float] = None  # MiB of gradients that go at a time, where it cannot be otherwise
    period = 1  # steps from one in which something is sent to the next

    def __init__(self, setup: Setup) -> None:
        """Raises Unsupported for an option that is another hook's."""
        for name, hook in (("matrix_rank", "powersgd"), ("period", "localsgd")):
            if name in setup.options and name not in self.own:
                raise Unsupported("{} belongs to hook={}: write that, or leave it out".format(name, hook))
        if self.bucket is not None and "bucket" in setup.options:
            raise Unsupported("with hook={} all gradients go in one bucket: leave bucket out".format(
                setup.options["hook"]))

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

    def stepped(self, model: Any) -> None:
        """After each update."""

    def gather(self, model: Any) -> None:
        """Before gradients are read: they become those of all processes, if they are not."""

    def settle(self, model: Any) -> None:
        """Before anything else is read: so do parameters."""


class Float16(Hook):
    """Cast to float16, divided by the number of processes, added up, and cast back."""

    def facts(self) -> Dict[str, Any]:
        return {"hook": "fp16_compress_hook"}

    def register(self, parallel: Any) -> None:
        parallel.register_comm_hook(None, fp16_compress_hook)


class PowerSGD(Hook):
    """Matrices of low rank in the place of gradients that are worth it, with error feedback and a warm start (Vogels et
    al. 2019). All but the rank, the first step and the bucket are as PyTorch has them: a bucket sends on when it has
    received, so that over gloo messages of several buckets leave each process in another order, which ends them."""

    own = ("matrix_rank",)
    bucket = ONE_BUCKET

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
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


class LocalSGD(Hook):
    """Each process updates by its own gradients, and every `period` steps all take the mean of their parameters (Lin et
    al. 2018, from the first step on). What the optimizer keeps stays each one's own."""

    own = ("period",)

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.period = int(setup.options.get("period", PERIOD))
        if self.period < 2:
            raise Unsupported("with period=1 it would be DistributedDataParallel: write period=2 or more")

    def facts(self) -> Dict[str, Any]:
        return {"hook": "post_localSGD_hook", "period": self.period}

    def register(self, parallel: Any) -> None:
        state = PostLocalSGDState(None, None, start_localSGD_iter=0, post_local_gradient_allreduce=False)
        parallel.register_comm_hook(state, post_localSGD_hook)
        self.renew()

    def renew(self) -> None:
        self.averager = PeriodicModelAverager(self.period)

    def stepped(self, model: Any) -> None:
        self.averager.average_parameters(model.parameters())

    def gather(self, model: Any) -> None:
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.copy_(mean(parameter.grad))

    def settle(self, model: Any) -> None:
        average_parameters(model.parameters(), distributed.group.WORLD)


def mean(tensor: Any) -> Any:
    """Over all processes."""
    total = tensor.clone()
    distributed.all_reduce(total)
    return total / distributed.get_world_size()


HOOKS: Dict[str, Type[Hook]] = {"": Hook, "fp16": Float16, "powersgd": PowerSGD, "localsgd": LocalSGD}
