"""The processes of a benchmark's parts, and what their samples say together."""

import argparse
import json
import math
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from benchmarks.paired import Part, Sample

from photofinish.environments import Environment, Missing, resolve, start, switches
from photofinish.runner import allocator
from photofinish.stats import student
from photofinish.values import Contender, Estimate

LEVEL = 0.95
HOME = Path(__file__).parents[1]


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

    @property
    def error(self) -> float | None:
        """How far apart the two were at most, relatively, in what they compute."""
        return max((each.error for each in self.samples if each.error is not None), default=None)

    def __str__(self) -> str:
        first, ratio = self.samples[0], self.ratio
        ours, theirs = (1e3 * median(getattr(each, side) for each in self.samples) for side in ("ours", "theirs"))
        alike = "" if self.error is None else f", the same to {self.error:.1g}"
        return (f"{first.title:<68} {ratio.value:.4f}  [{ratio.low:.4f}, {ratio.high:.4f}]  at most {first.limit:.2f}  "
                f"{ours:8.2f} ms / {theirs:8.2f} ms  {'ok' if self.passed else 'TOO SLOW'}{alike}")


def report(module: str, name: str, part: Part, options: argparse.Namespace) -> bool:
    """Runs the processes of a part and prints its comparisons; a part that cannot run here is left out."""
    home = resolve(Contender.parse(part.contender))
    if isinstance(home, Missing):
        print(f"{module}, part {name}: left out: {home.reason} ({home.cure})", flush=True)
        return True
    samples: dict[str, list[Sample]] = {}
    with TemporaryDirectory(prefix="photofinish-benchmark-") as cache:  # of compilers, shared by the processes
        for seed in range(options.processes):
            command = [str(home.python), "-m", module, "--part", name, "--seed", str(seed)]
            command += [word for each in ("size", "batch", "blocks")
                        for word in ("--" + each, str(getattr(options, each)))]
            done = subprocess.run(command, env=variables(home, cache), stdout=subprocess.PIPE, check=False, text=True)
            if done.returncode:
                print(f"{module}, part {name}: the process {seed} ended with {done.returncode}", flush=True)
                return False
            found = [line for line in done.stdout.splitlines() if line.startswith("{")]  # a framework may say something
            if not found:
                return True  # left out, as it has said
            for sample in (Sample(**json.loads(line)) for line in found):
                samples.setdefault(sample.title, []).append(sample)
    comparisons = [Comparison(each) for each in samples.values()]
    for comparison in comparisons:
        print(comparison, flush=True)
    return all(each.passed for each in comparisons)


def variables(home: Environment, cache: str) -> dict[str, str]:
    """Those of a worker in a race, and the way to our own code, which a worker gets in a folder of its own."""
    threads = str(len(os.sched_getaffinity(0)))
    return {**start.variables(home, os.environ, cache), **allocator.KEEP, **dict.fromkeys(switches.THREADS, threads),
            "PYTHONPATH": os.pathsep.join([str(HOME / "src"), str(HOME)])}
