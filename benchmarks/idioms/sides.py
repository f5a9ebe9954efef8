"""Our network and another's, with the same weights: shown to compute the same, then timed in one loop."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from benchmarks.paired import Sample, bare, compare

LIMIT = 1.02
TASKS = ("train", "infer")
TOLERANCE = {  # relative, of all arrays together: what float32 makes of one function computed by other kernels
    "outputs": 1e-4, "loss": 1e-4, "gradients": 1e-3, "outputs after a step": 1e-3}

Seen = Iterable[tuple[str, Sequence[np.ndarray]]]  # arrays, and what they are


class Side:
    """A network and the loop that users of its framework write around it."""

    def step(self, task: str) -> Callable[..., Any]:
        """A step of (image, label) that ends when its work is done; returns the outputs, or the loss."""
        raise NotImplementedError

    def gradients(self) -> Sequence[Any]:
        """Those of the training step before, the first; in an order that both sides have."""
        raise NotImplementedError

    def prepare(self, task: str) -> None:
        """What comes before a block of steps, untimed."""

    def read(self, found: Any) -> np.ndarray:
        """What a step returned, or a gradient."""
        return np.asarray(found)


def agreement(ours: Seen, theirs: Seen) -> float:
    """The largest relative error between what two sides show. Raises SystemExit where they differ: only equal work is
    compared."""
    worst = 0.0
    for (what, mine), (_, other) in zip(ours, theirs, strict=True):
        pairs = ((a.astype(np.float64), b.astype(np.float64)) for a, b in zip(mine, other, strict=True))
        apart, all_of_it = np.sum([(np.sum((a - b) ** 2), np.sum(b ** 2)) for a, b in pairs], axis=0)
        error = float(np.sqrt(apart / all_of_it))
        if not error <= TOLERANCE[what]:
            raise SystemExit(f"the two networks differ: relative error {error:.2g} of the {what}")
        worst = max(worst, error)
    return worst


def sides(title: str, whose: str, ours: Side, theirs: Side, batches: Sequence[Sequence[Any]], options: Any,
          limit: float = LIMIT, tasks: Sequence[str] = TASKS) -> Iterator[Sample]:
    """Compares their steps over batches, once they have shown the same."""
    pair = (ours, theirs)
    steps = [{task: side.step(task) for task in tasks} for side in pair]
    error = agreement(*(_shown(side, step, batches[0]) for side, step in zip(pair, steps)))
    for task in tasks:
        blocks = [bare(step[task], batches, partial(side.prepare, task)) for side, step in zip(pair, steps)]
        yield compare(f"{title} {task}: ours / {whose}", *blocks, limit, options.blocks, options.seed, error)


def _shown(side: Side, steps: dict[str, Callable[..., Any]], batch: Sequence[Any]) -> Seen:
    """What it computes of a batch; the outputs after a step have the running statistics in them."""
    def did(task: str) -> list[np.ndarray]:
        side.prepare(task)
        return [side.read(steps[task](*batch))]

    yield "outputs", did("infer")
    if "train" in steps:
        yield "loss", did("train")
        yield "gradients", list(map(side.read, side.gradients()))
        yield "outputs after a step", did("infer")
