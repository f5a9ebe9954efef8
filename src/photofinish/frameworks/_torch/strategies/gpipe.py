"""Pipeline parallelism: each process has a stretch of the layers, a stage. A batch comes in as many equal parts as
there are processes; all go forward through the stages one behind the other, then all go back (GPipe, Huang et al. 2019;
PyTorch's torch.distributed.pipelining). A step's gradients are the mean over the parts.

Each stage is a graph of its own, whose inputs are what the stage before it hands on.
"""

from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import distributed
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from photofinish.frameworks import Arrays, Setup, Unsupported, part_of
from photofinish.frameworks._torch.rank import Rank, joined
from photofinish.frameworks._torch.source import native_source
from photofinish.frameworks._torch.stages import holders, stages
from photofinish.frameworks.torch import _array
from photofinish.graph import Graph
from photofinish.optimizers import Optimizer

__all__ = ["Contestant", "native_source"]

RECEIVED = "gloo:recv"  # what another process sent
GIVEN = "given_{}"  # what a part of the batch is called in a call: a schedule has a `target` of its own


class Part(torch.nn.Module):  # type: ignore[misc]
    """A stage as PyTorch calls it: first what was handed on, then by name what each process has of the batch itself."""

    def __init__(self, model: torch.nn.Module, call: Callable[..., Any], own: Sequence[str]) -> None:
        super().__init__()
        self.model, self.call, self.own = model, call, own

    def forward(self, *passed: Any, **given: Any) -> Any:
        return self.call(self.model, *passed, *(given[GIVEN.format(name)] for name in self.own))


class Flow(NamedTuple):
    """A schedule, and what a stage takes of the batch itself in it."""

    schedule: Any
    own: Tuple[str, ...]


class Contestant(Rank):
    """Parameters, gradients and what the optimizer keeps are those of a stage; what is read is that of all."""

    strategy = "ScheduleGPipe"

    def __init__(self, setup: Setup) -> None:
        if setup.options.get("layout", "contiguous") != "contiguous":
            raise Unsupported("{} hands on contiguous tensors only: leave the layout out".format(self.strategy))
        super().__init__(setup)

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        if graph.state:
            raise Unsupported("the parts of a batch pass one after the other, and each would move running statistics")
        super(Rank, self).build(graph, batch, optimizer)

    def _make(self, graph: Graph, optimizer: Any) -> Dict[str, Any]:
        everyone = stages(graph, self.setup.world)
        self.stage, self.first, self.last = everyone[self.setup.rank], everyone[0], everyone[-1]
        handles = super()._make(self.stage, optimizer)
        self.shared = [(name, _among(ranks, self.setup.world)) for name, ranks in holders(everyone).items()
                       if len(ranks) > 1]
        self.outputs: List[Any] = []  # of each part of the last batch, at the last stage
        self.inferring = self._flow(self._forward, self._passed(self.stage.outputs))
        if graph.losses and self.trains:
            last = self.stage is self.last
            made = (torch.empty((), dtype=self.dtype),) if last else self._passed(self.stage.outputs)
            self.training = self._flow(self._loss if last else _called, made, lambda loss, _: loss)
        return handles

    def _flow(self, call: Callable[..., Any], made: Tuple[Any, ...], loss: Optional[Callable[..., Any]] = None) -> Flow:
        """Through all stages, of which this one is called so and makes tensors like these."""
        batch = {name for name, _ in self.graph.inputs + self.graph.targets}
        arguments = [name for name, _ in self.stage.inputs + (self.stage.targets if loss else ())]
        own = tuple(name for name in arguments if name in batch)
        stage = PipelineStage(Part(self.model, call, own), self.setup.rank, self.setup.world, self.device,
                              self._passed(name for name in arguments if name not in batch), made)
        return Flow(ScheduleGPipe(stage, self.setup.world, loss), own)

    def _passed(self, names: Iterable[str]) -> Tuple[Any, ...]:
        """Tensors like those of a part of the batch."""
        part = self.batch // self.setup.world
        return tuple(torch.empty((part, *self.graph.spec(name).shape), dtype=self.dtype, requires_grad=True)
                     for name in names)

    def feed(self, arrays: Arrays) -> Any:
        part_of(arrays, self.setup)  # which refuses what has no equal parts
        return super(Rank, self).feed(arrays)

    def _forward(self, model: Any, *inputs: Any) -> Any:
        return self.forward(*inputs)

    def _loss(self, model: Any, *part: Any) -> Any:
        loss, outputs = self.objective(model, *part)
        self.outputs.append(outputs)
        return loss

    def _pass(self, batch: Tuple[Any, ...]) -> Any:
        """Forward and back through all stages: the mean loss at the last one, and gradients in each."""
        if not self.model.training:
            self.model.train()
        self.optimizer.zero_grad() if self.optimizer else self.model.zero_grad()
        losses: List[Any] = []
        self.outputs.clear()
        self.training.schedule.step(target=batch[-1], losses=losses, return_outputs=False,
                                    **self._given(self.training, batch))
        for name, group in self.shared:
            if name in self.parameters:
                distributed.all_reduce(self.parameters[name].grad, group=group)
        return torch.stack(losses).mean() if losses else None

    def _given(self, flow: Flow, batch: Sequence[Any]) -> Dict[str, Any]:
        named = dict(zip((name for name, _ in self.graph.inputs + self.graph.targets), batch))
        return {GIVEN.format(name): named[name] for name in flow.own}

    def _train(self, batch: Tuple[Any, ...]) -> Any:
        loss = self._pass(batch)
        self.optimizer.step()
        return loss

    def _infer(self, inputs: Tuple[Any, ...]) -> Any:
        if self.model.training:
            self.model.eval()
        return self.inferring.schedule.eval(**self._given(self.inferring, inputs))

    def gradients(self, batch: Any) -> Arrays:
        return self._of_all(super(Rank, self).gradients(batch))

    def _backward(self, batch: Tuple[Any, ...]) -> Arrays:
        loss = self._pass(batch)
        found = self._gradients("gradient/")
        self.model.zero_grad()
        if loss is None:
            return found
        return dict(found, loss=_array(loss), **super(Rank, self).read(joined(self.outputs)))

    def get(self) -> Arrays:
        return self._of_all(super().get())

    def read(self, handle: Any) -> Arrays:
        """As the last stage has it, which alone knows the loss and the outputs."""
        return self._of_all({} if handle is None else super(Rank, self).read(handle))

    def _of_all(self, own: Arrays) -> Arrays:
        found: List[Any] = [None] * self.setup.world
        distributed.all_gather_object(found, own)
        return {name: values for each in found for name, values in each.items()}

    def _settle(self) -> None:
        super(Rank, self)._settle()

    def evidence(self) -> Dict[str, Any]:
        return dict(super().evidence(), kept_by_rank_0="{:,} of {:,} parameters".format(
            self.first.parameter_count, self.graph.parameter_count))

    def _sent(self, spans: Iterable[Tuple[Any, float, float]]) -> List[Tuple[float, float, int]]:
        """What it receives takes time, but is sent by another."""
        every = list(spans)
        received = [each for each in every if each[0].name().startswith(RECEIVED)]
        return [*super()._sent(each for each in every if each not in received),
                *((start, stop, 0) for _, start, stop in received)]


def _called(model: Any, *inputs: Any) -> Any:
    return model(*inputs)


def _among(ranks: List[int], world: int) -> Any:
    """The group of these processes, which all must ask for; None, of all."""
    return None if len(ranks) == world else distributed.new_group(ranks)
