"""Two ways of doing the same work, timed in alternating blocks inside a process, in several processes: their ratio."""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter

import numpy as np

from photofinish.data import draw_batch
from photofinish.frameworks import Contestant, Setup, load
from photofinish.graph import Graph
from photofinish.measure.engine import Engine
from photofinish.models import find
from photofinish.optimizers import SGD
from photofinish.runner.course import KEEP_MEMORY
from photofinish.stats import student
from photofinish.values import Estimate
from photofinish.weights import perturbed_state

BATCHES = 3  # input batches that rotate, as in a race
LEVEL = 0.95
BLOCK_SECONDS = 0.4  # a block is long enough that waking up and reading the clock do not show
OPTIMIZER = SGD(learning_rate=1e-4, momentum=0.9)  # small, as in every timing race: values must not drift

Block = Callable[[int], Sequence[float]]  # seconds of each of so many steps


@dataclass(frozen=True)
class Sample:
    """What one process found of two ways: the mean log ratio of its pairs of blocks, and seconds per step."""

    title: str
    limit: float
    difference: float
    ours: float
    theirs: float


@dataclass(frozen=True)
class Comparison:
    """seconds(ours) / seconds(theirs) over several processes, and the most it may be.

    The process is what is replicated, as in a race: where its memory happens to lie moves a ratio by a per cent
    or two, however many blocks it times.
    """

    samples: Sequence[Sample]

    @property
    def ratio(self) -> Estimate:
        """The t interval of exp(mean difference) over processes."""
        mean, error = student.mean_and_error(np.array([each.difference for each in self.samples]))
        reach = student.quantile((1 + LEVEL) / 2, len(self.samples) - 1) * error
        return Estimate(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), LEVEL)

    @property
    def passed(self) -> bool:
        """False only when the interval lies wholly above the limit."""
        return self.ratio.low <= self.samples[0].limit

    def __str__(self) -> str:
        first, ratio = self.samples[0], self.ratio
        ours, theirs = (1e3 * median(getattr(each, side) for each in self.samples) for side in ("ours", "theirs"))
        return "{:<68} {:.4f}  [{:.4f}, {:.4f}]  at most {:.2f}  {:8.2f} ms / {:8.2f} ms  {}".format(
            first.title, ratio.value, ratio.low, ratio.high, first.limit, ours, theirs,
            "ok" if self.passed else "TOO SLOW")


def compare(title: str, ours: Block, theirs: Block, limit: float, blocks: int, seed: int = 0) -> Sample:
    """Times `blocks` pairs of blocks, each pair in random order. A block counts as its median step, as in a
    race: a spike of the machine inside it moves nothing."""
    generator = np.random.default_rng(seed)
    pilot = max(np.median(ours(3)), np.median(theirs(3)))  # compiles and warms up, too
    steps = max(2, math.ceil(BLOCK_SECONDS / pilot))
    logs = np.empty((blocks, 2))
    for pair in logs:
        for side in generator.permutation(2):
            pair[side] = math.log(np.median((ours, theirs)[side](steps)))
    return Sample(title, limit, float(np.mean(logs[:, 0] - logs[:, 1])), *np.exp(logs.mean(axis=0)).tolist())


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


def main(module: str, description: str, parts: dict[str, Callable[[argparse.Namespace], Iterable[Sample]]],
         size: int, batch: int, blocks: int, processes: int = 6) -> int:
    """The command line of a benchmark: each part in fresh processes, with the memory settings of a race.

    Returns 1 if a part failed or fell short.
    """
    parser = argparse.ArgumentParser(prog="python -m {}".format(module), description=description)
    parser.add_argument("--size", type=int, default=size, help="height and width of the images (%(default)s)")
    parser.add_argument("--batch", type=int, default=batch, help="images per step (%(default)s)")
    parser.add_argument("--blocks", type=int, default=blocks, help="pairs of blocks in a process (%(default)s)")
    parser.add_argument("--processes", type=int, default=processes, help="at least 2 (%(default)s)")
    parser.add_argument("--part", choices=sorted(parts), help="one part only")
    parser.add_argument("--seed", type=int, help=argparse.SUPPRESS)  # one process of a part: prints samples as JSON
    options = parser.parse_args()
    if options.seed is not None:
        for sample in parts[options.part](options):
            print(json.dumps(asdict(sample)), flush=True)
        return 0
    if options.processes < 2:
        parser.error("an interval needs at least 2 processes")
    chosen = [options.part] if options.part else list(parts)
    passed = [_report(module, part, options) for part in chosen]  # all of them, whatever the first says
    return int(not all(passed))


def _report(module: str, part: str, options: argparse.Namespace) -> bool:
    """Runs the processes of a part and prints its comparisons."""
    samples: dict[str, list[Sample]] = {}
    for seed in range(options.processes):
        command = [sys.executable, "-m", module, "--part", part, "--seed", str(seed)]
        command += [word for name in ("size", "batch", "blocks") for word in ("--" + name, str(getattr(options, name)))]
        done = subprocess.run(command, env=dict(os.environ, **KEEP_MEMORY), stdout=subprocess.PIPE, check=False,
                              text=True)
        if done.returncode:
            print("{}, part {}: the process {} ended with {}".format(module, part, seed, done.returncode), flush=True)
            return False
        for line in done.stdout.splitlines():
            sample = Sample(**json.loads(line))
            samples.setdefault(sample.title, []).append(sample)
    comparisons = [Comparison(each) for each in samples.values()]
    for comparison in comparisons:
        print(comparison, flush=True)
    return all(each.passed for each in comparisons)
