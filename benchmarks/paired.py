"""Two ways of doing the same work, timed in alternating blocks inside a process, in several processes: their ratio.

What a process does needs no more than a worker has: it runs in the environment of its framework. What is made of all of
them is in processes.py.
"""

import argparse
import importlib.util
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

import numpy as np

from photofinish.data import draw_batch
from photofinish.frameworks import Contestant, Setup, load
from photofinish.graph import Graph
from photofinish.measure.engine import Engine
from photofinish.models import find
from photofinish.optimizers import SGD
from photofinish.weights import perturbed_state

BATCHES = 3  # input batches that rotate, as in a race
BLOCK_SECONDS = 0.4  # a block is long enough that waking up and reading the clock do not show
OPTIMIZER = SGD(learning_rate=1e-4, momentum=0.9)  # small, as in every timing race: values must not drift

Block = Callable[[int], Sequence[float]]  # seconds of each of so many steps


@dataclass(frozen=True)
class Sample:
    """What one process found of two ways: the mean log ratio of its pairs of blocks, and seconds per step. `error` is
    how far apart the two were, relatively, in what they compute; None where they are one and the same model."""

    title: str
    limit: float
    difference: float
    ours: float
    theirs: float
    error: float | None = None


@dataclass(frozen=True)
class Part:
    """Comparisons made in processes of a contender's environment, where the packages `needs` are there, too."""

    contender: str
    run: Callable[[argparse.Namespace], Iterable[Sample]]
    needs: tuple[str, ...] = ()

    @property
    def lacking(self) -> list[str]:
        """What this process would need and cannot import."""
        return [each for each in self.needs if importlib.util.find_spec(each) is None]


def compare(title: str, ours: Block, theirs: Block, limit: float, blocks: int, seed: int = 0,
            error: float | None = None) -> Sample:
    """Times `blocks` pairs of blocks, each pair in random order. A block counts as its median step, as in a
    race: a spike of the machine inside it moves nothing."""
    generator = np.random.default_rng(seed)
    pilot = max(np.median(ours(3)), np.median(theirs(3)))  # compiles and warms up, too
    steps = max(2, math.ceil(BLOCK_SECONDS / pilot))
    logs = np.empty((blocks, 2))
    for pair in logs:
        for side in generator.permutation(2):
            pair[side] = math.log(np.median((ours, theirs)[side](steps)))
    return Sample(title, limit, float(np.mean(logs[:, 0] - logs[:, 1])), *np.exp(logs.mean(axis=0)).tolist(), error)


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


def graph_of(model: str, size: int) -> Graph:
    """A model of the zoo on images of size x size, or on so many words."""
    entry = find(model)
    return entry.graph((3, size, size) if len(entry.inputs[0][1].shape) == 3 else (size,))


def build(contender: str, graph: Graph, batch: int, **asked: Any) -> Built:
    """By its adapter; `asked` is what else of Setup there is to say."""
    framework, _, mode = contender.partition(":")
    contestant = load(framework)(Setup(mode, threads=len(os.sched_getaffinity(0)), **asked))
    contestant.build(graph, batch, OPTIMIZER)
    batches = [draw_batch(graph, batch, seed) for seed in range(BATCHES)]
    built = Built(contestant, graph, perturbed_state(graph), batches)  # off their neutral values: all of them count
    built.reset()
    return built


def main(module: str, description: str, parts: dict[str, Part], size: int, batch: int, blocks: int,
         processes: int = 6) -> int:
    """The command line of a benchmark: each part in fresh processes, with the memory settings of a race.

    Returns 1 if a part failed or fell short.
    """
    parser = argparse.ArgumentParser(prog="python -m {}".format(module), description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=size, help="side of images, or how many words (%(default)s)")
    parser.add_argument("--batch", type=int, default=batch, help="examples per step (%(default)s)")
    parser.add_argument("--blocks", type=int, default=blocks, help="pairs of blocks in a process (%(default)s)")
    parser.add_argument("--processes", type=int, default=processes, help="at least 2 (%(default)s)")
    parser.add_argument("--part", choices=sorted(parts), help="one part only")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)  # one process of a part: prints samples as JSON
    options = parser.parse_args()
    if options.seed is not None:
        part = parts[options.part]
        if part.lacking:
            print("{}: left out: {} is not installed".format(options.part, part.lacking[0]), file=sys.stderr)
            return 0
        for sample in part.run(options):
            print(json.dumps(asdict(sample)), flush=True)
        return 0
    if options.processes < 2:
        parser.error("an interval needs at least 2 processes")
    from benchmarks.processes import report  # which needs more than a worker has

    chosen = [options.part] if options.part else list(parts)
    passed = [report(module, name, parts[name], options) for name in chosen]  # all of them, whatever the first says
    return int(not all(passed))
