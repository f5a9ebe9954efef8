"""Our model and the one of another package, which the option `build` asks a contender for: in the loop of a race."""

import argparse
from collections.abc import Iterator

import numpy as np
from benchmarks.idioms.sides import LIMIT, TASKS, Seen, agreement
from benchmarks.paired import Built, Sample, build, compare, graph_of

from photofinish.files.names import translated
from photofinish.graph import Graph
from photofinish.models import find


def against(contender: str, model: str, package: str, name: str, options: argparse.Namespace) -> Iterator[Sample]:
    """Ours over theirs, once they have shown the same: with dropout silenced, for each draws its own."""
    graph, spelled = graph_of(model, options.size), f"{package}:{name}"
    calm = _both(contender, graph.without_randomness(), model, spelled, options)
    differing = calm[1].contestant.differences()
    if differing:
        raise SystemExit(f"the twin is another model: {differing[0]}")
    error = agreement(*map(_shown, calm))
    ours, theirs = _both(contender, graph, model, spelled, options) if graph.random_nodes else calm
    for task in TASKS:
        yield compare(f"{contender} {model} {task}: ours / {package}", ours.measured(task), theirs.measured(task),
                      LIMIT, options.blocks, options.seed, error)


def _both(contender: str, graph: Graph, model: str, spelled: str, options: argparse.Namespace) -> tuple[Built, Built]:
    names = translated(graph, find(model).names[spelled.partition(":")[0]])
    return (build(contender, graph, options.batch),
            build(contender, graph, options.batch, options={"build": spelled}, names=names))


def _shown(built: Built) -> Seen:
    """What a contender computes of a batch; the outputs after a step have the running statistics in them."""
    contestant, batch = built.contestant, built.contestant.feed(built.batches[0])

    def outputs() -> list[np.ndarray]:
        return list(contestant.read(contestant.infer(batch)).values())

    yield "outputs", outputs()
    found = contestant.gradients(batch)
    yield "loss", [found["loss"]]
    yield "gradients", [found[f"gradient/{name}"] for name in built.graph.parameters]
    contestant.wait(contestant.train_step(batch))
    yield "outputs after a step", outputs()
