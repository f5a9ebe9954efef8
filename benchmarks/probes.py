"""What measuring costs the steps that are measured: blocks as a worker answers them, with every counter read around
them (CPU time, page faults, what others do, peak memory, energy), over blocks that read nothing but the clock.

    python -m benchmarks.probes --size 64 --batch 8 --blocks 8 --processes 6
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.paired import Block, Built, Part, Sample, build, compare, graph_of, main

from photofinish import sensors
from photofinish.measure.engine import Engine
from photofinish.sensors.scripted import Scripted
from photofinish.worker import Worker, answer

LIMIT = 1.01


def torch(options: argparse.Namespace) -> Iterator[Sample]:
    yield from _both("torch:eager", options)


def tensorflow(options: argparse.Namespace) -> Iterator[Sample]:
    yield from _both("tensorflow:graph", options)


def _both(contender: str, options: argparse.Namespace) -> Iterator[Sample]:
    built = build(contender, graph_of("resnet18", options.size), options.batch)
    with tempfile.TemporaryDirectory() as folder:
        meter = _meter(Path(folder))
        for task in ("train", "infer"):
            yield compare(f"{contender} resnet18 {task}: all probes / none", _probed(built, task, meter),
                          _silent(built, task), LIMIT, options.blocks, options.seed)


def _probed(built: Built, task: str, meter: sensors.Meter) -> Block:
    """As in a race: the parent reads the meter, the worker everything else."""
    worker = Worker()
    worker.contestant, worker.engine = built.contestant, _engine(built)

    def block(steps: int) -> list[float]:
        before = meter.read()
        reply = answer(worker, {"do": "block", "task": task, "steps": steps})
        meter.used(before, meter.read())
        found: list[float] = reply["seconds"]
        return found
    return block


def _silent(built: Built, task: str) -> Block:
    engine = _engine(built)

    def block(steps: int) -> list[float]:
        built.reset()
        engine.step(task)
        return [engine.step(task) for _ in range(steps)]
    return block


def _engine(built: Built) -> Engine:
    return Engine(built.contestant, built.state, [built.contestant.feed(batch) for batch in built.batches])


def _meter(folder: Path) -> sensors.Meter:
    """This machine's, or where it has no sensor a scripted one."""
    found = sensors.meter("cpu")
    if isinstance(found, sensors.Meter):
        return found
    (folder / "idle").write_text("10")
    (folder / "range").write_text("1e6")
    return sensors.Meter([Scripted(folder)])


PARTS = {"torch": Part("torch:eager", torch), "tensorflow": Part("tensorflow:graph", tensorflow)}

if __name__ == "__main__":
    sys.exit(main("benchmarks.probes", __doc__, PARTS, size=64, batch=8, blocks=8))
