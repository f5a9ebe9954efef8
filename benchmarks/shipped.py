"""Whether ours costs what the as-shipped model costs: eight models over those of torchvision, transformers and
keras.applications, in the loop of a race, with the same weights.

    python -m benchmarks.shipped --part keras --size 64 --batch 8 --blocks 8

A package that is not installed is left out, and said to be.
"""

import argparse
import importlib.util
import sys
from collections.abc import Callable, Iterator

import numpy as np
from benchmarks.idiom import same
from benchmarks.paired import BATCHES, OPTIMIZER, Built, Sample, compare, main

from photofinish.data import draw_batch
from photofinish.files.names import translated
from photofinish.frameworks import Setup, load
from photofinish.graph import Graph
from photofinish.models import find
from photofinish.runner.course import usable_cores
from photofinish.weights import perturbed_state

LIMIT = 1.02
MODES = {"torch": "eager", "tensorflow": "graph"}
TWINS = {  # part -> framework, and our models with what the package calls them
    "torchvision": ("torch", {"resnet50": "resnet50", "mobilenet_v2": "mobilenet_v2", "densenet121": "densenet121",
                              "efficientnet_b0": "efficientnet_b0"}),
    "transformers": ("torch", {"bert_base": "bert-base"}),
    "keras.applications": ("tensorflow", {"resnet50_v1_keras": "ResNet50", "mobilenet_v2_keras": "MobileNetV2",
                                          "densenet121_keras": "DenseNet121"}),
}


def build(framework: str, graph: Graph, batch: int, options: dict[str, str], names: dict[str, str]) -> Built:
    """Ours, or the twin that `options` ask for."""
    setup = Setup(MODES[framework], options, threads=len(usable_cores()), names=names)
    contestant = load(framework)(setup)
    contestant.build(graph, batch, OPTIMIZER)
    if contestant.differences():
        raise SystemExit("the twin is another model: {}".format(contestant.differences()[0]))
    batches = [draw_batch(graph, batch, seed) for seed in range(BATCHES)]
    built = Built(contestant, graph, perturbed_state(graph), batches)
    built.reset()
    return built


def outputs(built: Built) -> Iterator[np.ndarray]:
    contestant = built.contestant
    yield from contestant.read(contestant.infer(contestant.feed(built.batches[0]))).values()


def part(package: str) -> Callable[[argparse.Namespace], Iterator[Sample]]:
    """The comparisons of one package's models. `size` is an image's side, or how many words there are."""
    def run(options: argparse.Namespace) -> Iterator[Sample]:
        if importlib.util.find_spec(package.partition(".")[0]) is None:
            if options.seed == 0:
                print(f"{package} is not installed: left out", file=sys.stderr)
            return
        framework, twins = TWINS[package]
        for model, name in twins.items():
            entry = find(model)
            axes = len(entry.inputs[0][1].shape)
            graph = entry.graph((3, options.size, options.size) if axes == 3 else (options.size,))
            ours = build(framework, graph, options.batch, {}, {})
            theirs = build(framework, graph, options.batch, {"build": f"{package}:{name}"},
                           translated(graph, entry.names[package]))
            for mine, shipped in zip(outputs(ours), outputs(theirs), strict=True):
                same(mine, shipped)
            for task in ("train", "infer"):
                yield compare(f"{framework}:{MODES[framework]} {model} {task}: ours / {package}", ours.measured(task),
                              theirs.measured(task), LIMIT, options.blocks, options.seed)
    return run


if __name__ == "__main__":
    sys.exit(main("benchmarks.shipped", __doc__, {package: part(package) for package in TWINS}, size=64, batch=8,
                  blocks=8))
