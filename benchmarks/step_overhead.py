"""What Photofinish's measured loop costs: its step over a bare hand-written step on the same native model.

    python -m benchmarks.step_overhead --size 64 --batch 8 --blocks 8 --processes 6
"""

import argparse
import sys
from collections.abc import Iterator

from benchmarks.native import tensorflow_batches, tensorflow_step, torch_batches, torch_step
from benchmarks.paired import Part, Sample, bare, build, compare, graph_of, main

LIMIT = 1.01


def torch(options: argparse.Namespace) -> Iterator[Sample]:
    built = build("torch:eager", graph_of("resnet18", options.size), options.batch)
    model, batches = built.contestant.model, torch_batches(built.batches)
    for task in ("train", "infer"):
        def prepare(task: str = task) -> None:
            built.reset()
            model.train(task == "train")

        yield compare("torch:eager resnet18 {}: measured / bare loop".format(task), built.measured(task),
                      bare(torch_step(model, task), batches, prepare), LIMIT, options.blocks, options.seed)


def tensorflow(options: argparse.Namespace) -> Iterator[Sample]:
    built = build("tensorflow:graph", graph_of("resnet18", options.size), options.batch)
    model, batches = built.contestant.model, tensorflow_batches(built.batches)
    for task in ("train", "infer"):
        yield compare("tensorflow:graph resnet18 {}: measured / bare loop".format(task), built.measured(task),
                      bare(tensorflow_step(model, task), batches, built.reset), LIMIT, options.blocks, options.seed)


PARTS = {"torch": Part("torch:eager", torch), "tensorflow": Part("tensorflow:graph", tensorflow)}

if __name__ == "__main__":
    sys.exit(main("benchmarks.step_overhead", __doc__, PARTS, size=64, batch=8, blocks=8))
