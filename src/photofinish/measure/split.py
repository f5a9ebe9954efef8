"""What several processes compute that share each batch, computed by one: the reference of data-parallel training.

Each takes the loss and gradients of its part of the batch, and all update by the mean; running statistics are those of
the first. Where nothing hangs on which samples share a part, that is what one computes of the whole batch.

Gradients may be `sent` in a coarser format: then each part's are rounded to it, divided by the number of parts in it,
and added up in it, one part after another. That is what a communication hook computes that compresses, not a bound on
it: what it loses of small numbers (float16 has none below 6e-8) is lost here as well.
"""

from typing import Any, List, Optional, Tuple

import numpy as np

from photofinish.frameworks import Arrays, Setup, part_of
from photofinish.frameworks.numpy import UPDATES
from photofinish.graph import Graph
from photofinish.layers import layer_fields
from photofinish.optimizers import Optimizer


def of_each_part(graph: Graph) -> Tuple[str, ...]:
    """What processes take of their own parts of a batch, by which they compute another function than one process."""
    ignoring = any(layer_fields(loss.layer).get("ignore") is not None for loss in graph.losses)
    found = {"BatchNorm's statistics": bool(graph.state), "the mean over labels that count": ignoring}
    return tuple(what for what, there in found.items() if there)


class Split:
    """A contestant whose batches are divided into `parts` of equal size, their gradients `sent` in a format of NumPy's
    ("" for their own)."""

    def __init__(self, contestant: Any, parts: int, sent: str = "") -> None:
        self._contestant = contestant
        self._parts = parts
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._contestant, name)

    def build(self, graph: Graph, batch: int, optimizer: Optional[Optimizer] = None) -> None:
        self._rule = optimizer
        self._contestant.build(graph, batch // self._parts, optimizer)

    def feed(self, arrays: Arrays) -> List[Any]:
        setups = [Setup("", rank=rank, world=self._parts) for rank in range(self._parts)]
        return [self._contestant.feed(part_of(arrays, setup)) for setup in setups]

    def infer(self, batch: List[Any]) -> Arrays:
        return _joined([self._contestant.read(self._contestant.infer(part)) for part in batch], self._sent)

    def gradients(self, batch: List[Any]) -> Arrays:
        return _joined([self._contestant.gradients(part) for part in batch], self._sent)

    def train_step(self, batch: List[Any]) -> Arrays:
        """The running statistics are moved by a step on the first part, whose update is then put right."""
        before, found = self._contestant.get(), self.gradients(batch)
        self._contestant.wait(self._contestant.train_step(batch[0]))
        arrays, rule = self._contestant.get(), self._rule
        assert rule is not None
        for name in [each[len("parameter/"):] for each in before if each.startswith("parameter/")]:
            slots = {slot: before["{}/{}".format(slot, name)] for slot in rule.slots}
            arrays["parameter/" + name] = UPDATES[type(rule)](
                rule, int(arrays["step"]), before["parameter/" + name], found["gradient/" + name], slots)
            arrays.update({"{}/{}".format(slot, name): values for slot, values in slots.items()})
        self._contestant.put(arrays)
        return {"loss": found["loss"]}

    def read(self, handle: Arrays) -> Arrays:
        return handle


def _joined(parts: List[Arrays], sent: str) -> Arrays:
    """Outputs one after another, means of the loss and the gradients."""
    found = {}
    for name in parts[0]:
        values = [each[name] for each in parts]
        found[name] = (np.concatenate(values) if name.startswith("output/") else
                       _mean_of_sent(values, sent) if sent and name.startswith("gradient/") else
                       np.asarray(np.mean(values, axis=0)))
    return found


def _mean_of_sent(values: List[np.ndarray], sent: str) -> np.ndarray:
    """As float64 again. What a format cannot hold is infinite in it, and judged as that."""
    with np.errstate(over="ignore"):
        first, *others = [each.astype(sent) / np.array(len(values), sent) for each in values]
        for each in others:
            first = first + each
    return np.asarray(first, np.float64)
