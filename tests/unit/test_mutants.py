"""Every field of every layer, loss and optimizer, perturbed one at a time, must be refused by the certificate."""

import re
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from families import FAMILIES
from photofinish.data import draw_batch
from photofinish.frameworks import Setup, load
from photofinish.frameworks.numpy import Contestant
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import KINDS, SoftmaxCrossEntropy, Spec
from photofinish.measure import proof
from photofinish.optimizers import OPTIMIZERS
from photofinish.referee.certificate import judge
from photofinish.referee.mutants import Mutant, loadable, mutants
from photofinish.runner.paces import PACES
from photofinish.vocabulary import (
    adaptive_average_pool,
    average_pool,
    batch_norm,
    clip,
    concat,
    conv,
    dropout,
    embedding,
    flatten,
    global_average_pool,
    linear,
    masked_mean,
    max_pool,
    relu,
    scan,
    sigmoid,
    stochastic_depth,
    swish,
    tanh,
    training_only,
)
from photofinish.weights import perturbed_state

LABEL = Spec("", (), "int32")


def cell(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    state = tanh(linear(concat(carry, x), 3))
    return state, linear(state, 2)


def compact(image: Tensor, words: Tensor, mask: Tensor) -> Tensor:
    """Every layer kind once, wired so that other strides, paddings and windows still have a shape."""
    x = relu(batch_norm(conv(image, 4, (3, 2), (1, 2), (1, 0, 1, 1), bias=True)))
    y = batch_norm(conv(x, 4, 3, dilation=(2, 1), groups=2), 1e-3, 0.8, "population")
    x = x + stochastic_depth(swish(y), 0.3)
    x = clip(x * sigmoid(global_average_pool(conv(x, 4, (2, 3), bias=True), keep_axes=True)), -0.1, 0.5)
    pooled = max_pool(x, (3, 2), 2, (1, 0, 1, 0))
    averaged = average_pool(x, (2, 3), 2, (0, 1, 0, 1), count_padding=True)
    pictures = concat(global_average_pool(pooled), global_average_pool(averaged),
                      global_average_pool(adaptive_average_pool(x, (2, 3))),
                      flatten(adaptive_average_pool(x, 2)))
    table = embedding(words, 7, 3)
    body = record(cell, OrderedDict(carry=Spec("C", (3,)), x=Spec("C", (3,))))
    last, steps = scan(body, tanh(linear(masked_mean(table, mask), 3)), table)
    features = concat(pictures, last, masked_mean(steps, mask))
    with training_only():
        loss(SoftmaxCrossEntropy(), linear(features, 4), "label", LABEL, weight=0.3)
    logits = linear(dropout(features, 0.4), 4)
    loss(SoftmaxCrossEntropy(0.1), logits, "label", LABEL)
    return logits


GRAPH = record(compact, OrderedDict(image=Spec("CHW", (3, 9, 10)), words=Spec("T", (5,), "int32"),
                                    mask=Spec("T", (5,), "bool")))
GRAPHS = {"compact": GRAPH, **{family.__name__.split(".")[-1]: family.COMPACT for family in FAMILIES}}
MUTANTS = {f"{name}: {each.name}": (name, each)
           for name, graph in GRAPHS.items() for each in mutants(graph, proof.OPTIMIZERS if graph is GRAPH else ())}
UNREACHED = "no window reaches the row or column of padding in question"
EQUIVALENT = {
    "compact: conv1 Conv.padding[3] (1, 0, 1, 1) -> (1, 0, 1, 0)": UNREACHED,
    "compact: max_pool1 MaxPool.padding[2] (1, 0, 1, 0) -> (1, 0, 2, 0)": UNREACHED,
    "compact: average_pool1 AveragePool.padding[3] (0, 1, 0, 1) -> (0, 1, 0, 2)": UNREACHED,
}
STARTS = r" \w+\.(gain|initial) "  # fields that say only where a weight starts: who is judged is given the weights
EQUIVALENT.update({name: "where a weight starts" for name in MUTANTS if re.search(STARTS, name)})
for family in FAMILIES:
    prefix = family.__name__.split(".")[-1]
    EQUIVALENT.update({f"{prefix}: {name}": reason for name, reason in family.EQUIVALENT.items()})


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a graph's proof, with the reference's part of it."""
    @lru_cache(maxsize=None)
    def folder(name: str) -> Path:
        path = tmp_path_factory.mktemp("proof")
        proof.prepare(path, GRAPHS[name], draws=1)
        proof.run(lambda: Contestant(Setup("reference", precision="float64")), path, proof.REFERENCE)
        return path
    return folder


def certified(folder: Path, mutant: Mutant, framework: str = "numpy", mode: str = "reference") -> bool:
    make = load(framework)
    proof.run(lambda: make(Setup(mode)), folder, "contender", mutant.graph, mutant.optimizers or proof.OPTIMIZERS)
    return judge(folder, "contender", framework).passed


def kinds(graph: Graph) -> set[str]:
    found = {type(each.layer).__name__ for each in graph.nodes + graph.losses}
    bodies = (node.layer.body for node in graph.nodes if hasattr(node.layer, "body"))
    return found.union(*map(kinds, bodies))


def test_the_graphs_hold_every_layer_kind_and_the_plan_every_optimizer() -> None:
    assert set().union(*map(kinds, GRAPHS.values())) == set(KINDS)
    assert {proof.kind(each) for each in proof.OPTIMIZERS} == set(OPTIMIZERS)


@pytest.mark.parametrize("name", GRAPHS)
def test_the_graph_itself_is_certified(name: str, folders: Callable[[str], Path]) -> None:
    assert certified(folders(name), Mutant("", GRAPHS[name], ()))


@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_is_refused_but_the_equivalent(name: str, folders: Callable[[str], Path]) -> None:
    graph, mutant = MUTANTS[name]
    refused = not loadable(mutant.graph, GRAPHS[graph]) or not certified(folders(graph), mutant)
    assert refused != (name in EQUIVALENT)


@pytest.mark.parametrize("pace", [1, 2])
def test_smaller_steps_show_every_fault_of_an_optimizer_too(pace: int, tmp_path: Path) -> None:
    """Where the usual ones lead nowhere, or learn the batches by heart."""
    optimizers = PACES[pace]
    proof.prepare(tmp_path, GRAPH, draws=1, optimizers=optimizers)
    proof.run(lambda: Contestant(Setup("reference", precision="float64")), tmp_path, proof.REFERENCE)
    changed = [each for each in mutants(GRAPH, optimizers) if each.graph == GRAPH]
    assert len(changed) >= 6 and certified(tmp_path, Mutant("", GRAPH, optimizers))
    assert not [each.name for each in changed if certified(tmp_path, each)]


@pytest.mark.parametrize("change", ["", "BatchNorm.epsilon", "Clip.high", "SGD.momentum", "Adam.epsilon"])
def test_mutants_are_refused_in_torch_too(change: str, folders: Callable[[str], Path]) -> None:
    pytest.importorskip("torch", reason="needs PyTorch")
    honest = Mutant("", GRAPH, proof.OPTIMIZERS)
    of_compact = [mutant for graph, mutant in MUTANTS.values() if graph == "compact"]
    mutant = next(each for each in of_compact if change in each.name) if change else honest
    assert certified(folders("compact"), mutant, "torch", "eager") == (mutant is honest)


@pytest.mark.parametrize("name", EQUIVALENT)
def test_an_equivalent_mutant_computes_exactly_the_same(name: str) -> None:
    original, mutant = MUTANTS[name]
    state, batch = perturbed_state(GRAPHS[original]), draw_batch(GRAPHS[original], 8, 0)
    results = []
    for graph in (GRAPHS[original], mutant.graph):
        contestant = Contestant(Setup("reference", precision="float64"))
        contestant.build(graph.without_randomness(), 8)
        contestant.put(state)
        results.append(contestant.gradients(contestant.feed(batch)))
    assert all((results[0][key] == results[1][key]).all() for key in results[0])
