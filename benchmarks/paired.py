"""Two ways of doing the same work, timed in alternating blocks inside one process: their ratio with its interval."""

import argparse
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from photofinish.frameworks import Contestant, Setup, load
from photofinish.graph import Graph
from photofinish.measure.engine import Engine
from photofinish.models import find
from photofinish.optimizers import SGD
from photofinish.runner.course import KEEP_MEMORY
from photofinish.stats import student
from photofinish.values import Estimate
from photofinish.weights import draw_batch, perturbed_state

BATCHES = 3  # input batches that rotate, as in a race
BLOCK_SECONDS = 0.4  # a block is long enough that waking up and reading the clock do not show
OPTIMIZER = SGD(learning_rate=1e-4, momentum=0.9)  # small, as in every timing race: values must not drift

Block = Callable[[int], Sequence[float]]  # seconds of each of so many steps


@dataclass(frozen=True)
class Comparison:
    """seconds(ours) / seconds(theirs), and the most it may be."""

    title: str
    ratio: Estimate
    limit: float
    ours: float
    theirs: float

    @property
    def passed(self) -> bool:
        """False only when the interval lies wholly above the limit."""
        return self.ratio.low <= self.limit

    def __str__(self) -> str:
        return "{:<58} {:.4f}  [{:.4f}, {:.4f}]  at most {:.2f}  {:8.2f} ms / {:8.2f} ms  {}".format(
            self.title, self.ratio.value, self.ratio.low, self.ratio.high, self.limit,
            1e3 * self.ours, 1e3 * self.theirs, "ok" if self.passed else "TOO SLOW")


def compare(title: str, ours: Block, theirs: Block, limit: float, blocks: int, seed: int = 0) -> Comparison:
    """Times `blocks` pairs of blocks, at least 2, each pair in random order. A block counts as its median
    step, as in a race: a spike of the machine inside it moves nothing."""
    generator = np.random.default_rng(seed)
    pilot = max(np.median(ours(3)), np.median(theirs(3)))  # compiles and warms up, too
    steps = max(2, math.ceil(BLOCK_SECONDS / pilot))
    logs = np.empty((blocks, 2))
    for pair in logs:
        for side in generator.permutation(2):
            pair[side] = math.log(np.median((ours, theirs)[side](steps)))
    return Comparison(title, ratio(logs[:, 0] - logs[:, 1]), limit, *np.exp(logs.mean(axis=0)))


def ratio(differences: np.ndarray, level: float = 0.95) -> Estimate:
    """The paired t interval of exp(mean difference)."""
    mean, error = student.mean_and_error(differences)
    reach = student.quantile((1 + level) / 2, len(differences) - 1) * error
    return Estimate(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), level)


def bare(step: Callable[..., object], batches: Sequence[Sequence[object]], prepare: Callable[[], object]) -> Block:
    """A loop around `step(*batch)` as a user writes it. Like the engine's blocks it starts, untimed, from
    the same state and with one step."""
    def block(steps: int) -> list[float]:
        prepare()
        step(*batches[-1])
        seconds = []
        for i in range(steps):
            begin = perf_counter()
            step(*batches[i % len(batches)])
            seconds.append(perf_counter() - begin)
        return seconds
    return block


@dataclass
class Built:
    """A model built by its adapter, with the canonical state and batches it is driven with."""

    contestant: Contestant
    graph: Graph
    state: dict[str, np.ndarray]
    batches: list[dict[str, np.ndarray]]

    def reset(self) -> None:
        self.contestant.put(self.state)

    def measured(self, task: str) -> Block:
        """Blocks of the engine's own loop: what a race measures."""
        engine = Engine(self.contestant, self.state, [self.contestant.feed(batch) for batch in self.batches])
        return lambda steps: engine.block(task, steps)["seconds"]


def build(framework: str, mode: str, model: str, size: int, batch: int) -> Built:
    graph = find(model).graph((3, size, size))
    contestant = load(framework)(Setup(mode=mode, threads=len(os.sched_getaffinity(0))))
    contestant.build(graph, batch, OPTIMIZER)
    batches = [draw_batch(graph, batch, seed) for seed in range(BATCHES)]
    built = Built(contestant, graph, perturbed_state(graph), batches)  # off their neutral values: all of them count
    built.reset()
    return built


def main(module: str, description: str, parts: dict[str, Callable[[argparse.Namespace], Sequence[Comparison]]],
         size: int, batch: int, blocks: int) -> int:
    """The command line of a benchmark: each part in a process of its own, with the memory settings of a race.

    Returns 1 if a part failed or fell short.
    """
    parser = argparse.ArgumentParser(prog="python -m {}".format(module), description=description)
    parser.add_argument("--size", type=int, default=size, help="height and width of the images (%(default)s)")
    parser.add_argument("--batch", type=int, default=batch, help="images per step (%(default)s)")
    parser.add_argument("--blocks", type=int, default=blocks, help="pairs of blocks, at least 2 (%(default)s)")
    parser.add_argument("--part", choices=sorted(parts), help="one part only, in this process")
    options = parser.parse_args()
    if options.blocks < 2:
        parser.error("an interval needs at least 2 pairs of blocks")
    if options.part is None:
        command = [sys.executable, "-m", module] + sys.argv[1:]
        codes = [subprocess.run(command + ["--part", part], env=dict(os.environ, **KEEP_MEMORY), check=False).returncode
                 for part in parts]
        return int(any(codes))
    passed = True
    for comparison in parts[options.part](options):
        print(comparison, flush=True)
        passed = passed and comparison.passed
    return int(not passed)
