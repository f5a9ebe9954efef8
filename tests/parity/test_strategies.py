"""Several processes, or devices, of a real framework that train one model, certified."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from photofinish import api, models
from photofinish.environments import Missing, frameworks, installed, resolve
from photofinish.stats.time_split import time_splits
from photofinish.values import Contender

TINY = Path(__file__).parents[1] / "null" / "tiny.py"
HERE = {each.framework for each in installed()}
DIVIDING = {"tensor": (1, "no two linear layers in a row that 2 processes could share"),
            "gpipe": (2, "each would move running statistics")}  # the layers: slices of a batch, and what is refused
ACCUMULATING = ("torch:eager+ddp[2,accumulate=2]", "torch:eager+zero[2,accumulate=4]")
APART = ["torch:eager+horovod[2]", "torch:eager+horovod[2,hook=fp16]"]  # each in an environment of its own
QUICK = ("torch:", "tensorflow:graph+multiworker")  # tests of seconds; `make test-environments` tries all
ALL = {info.name: [f"{info.name}:{mode}+{name}[2{hook}]" for name, strategy in info.strategies.items()
                   for hook in ("", *(f",hook={each}" for each in strategy.gradients))
                   for mode in strategy.modes
                   if "cpu" in strategy.devices and not strategy.recipe and name not in DIVIDING]
       for info in frameworks().values() if info.strategies and not info.in_house}
STRATEGIES = {name: found for name, everyone in ALL.items() if (found := [
    each for each in everyone if each.startswith(QUICK) or "PHOTOFINISH_STRATEGIES" in os.environ])}


@pytest.mark.parametrize("framework", STRATEGIES)
def test_two_compute_what_the_reference_does_with_its_batch_in_two_parts(
        framework: str, tmp_path: Path) -> None:
    if framework not in HERE:
        pytest.skip("it is not installed for this Python")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    found = api.verify(f"{TINY}:tiny", STRATEGIES[framework], threads=2, store=tmp_path)
    assert found.certified, found
    whole = {name for name, strategy in frameworks()[framework].strategies.items() if strategy.whole_batch}
    assert {each.contender: each.slices for each in found.certificates} == {
        name: 1 if Contender.parse(name).strategy in whole else 2 for name in STRATEGIES[framework]}
    compressed = {each.contender: each.gradients for each in found.certificates if each.gradients}
    assert compressed.keys() == {name for name in STRATEGIES[framework] if "hook" in name}


def missing(contender: str) -> str:
    """Why it cannot be tried here, and how it could be."""
    found = resolve(Contender.parse(contender))
    return f"{found.reason}: {found.cure}" if isinstance(found, Missing) else ""


@pytest.mark.parametrize("strategy", DIVIDING)
def test_two_that_divide_the_layers_compute_what_one_does(strategy: str, tmp_path: Path) -> None:
    if "torch" not in HERE:
        pytest.skip("PyTorch is not installed for this Python")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    contender, (slices, reason) = f"torch:eager+{strategy}[2]", DIVIDING[strategy]
    found = api.verify("transformer_base", [contender], reduced=True, threads=2, store=tmp_path)
    assert found.certified and [each.slices for each in found.certificates] == [slices], found
    refused = api.verify(f"{TINY}:tiny", [contender], threads=2, store=tmp_path)
    assert reason in refused.failures[0].message


@pytest.mark.parametrize("contender", ACCUMULATING)
def test_gradients_of_parts_one_after_another_are_those_of_the_batch(contender: str, tmp_path: Path) -> None:
    if "torch" not in HERE:
        pytest.skip("PyTorch is not installed for this Python")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    slices = 2 * int(dict(Contender.parse(contender).options)["accumulate"])
    found = api.verify("transformer_base", [contender], reduced=True, threads=2, store=tmp_path)
    assert found.certified and [each.slices for each in found.certificates] == [slices], found
    refused = api.verify(f"{TINY}:tiny", [contender], threads=2, store=tmp_path)
    assert "each would move running statistics" in refused.failures[0].message


@pytest.mark.parametrize(("model", "attentions", "pairs"), [
    ("transformer_base", 18, 12), ("bert_base", 12, 12), ("resnet18", 0, 0),
    ("vit_b16", 0, 12)])  # one layer makes all that its attention takes
def test_what_can_be_divided_is_found_in_the_graph(model: str, attentions: int, pairs: int) -> None:
    if "torch" not in HERE:
        pytest.skip("PyTorch is not installed for this Python")
    from photofinish.frameworks._torch.divisible import divisible
    found = [bool(between) for _, between, _ in divisible(models.find(model).graph(), 2)]
    assert (sum(found), len(found) - sum(found)) == (attentions, pairs)
    odd = [between for _, between, _ in divisible(models.find(model).graph(), 5)]
    assert not any(odd)  # no 8 or 12 heads can be shared by five


@pytest.mark.parametrize(("model", "world"), [("transformer_base", 2), ("bert_base", 3), ("gpt2_small", 4)])
def test_stages_hold_about_equal_shares_of_a_model_and_all_of_it(model: str, world: int) -> None:
    if "torch" not in HERE:
        pytest.skip("PyTorch is not installed for this Python")
    from photofinish.frameworks._torch.stages import stages
    graph = models.find(model).graph()
    found = stages(graph, world)
    assert [node for stage in found for node in stage.nodes] == list(graph.nodes)
    assert all(0.5 < stage.macs * world / graph.macs < 1.5 for stage in found)
    for before, stage in pairwise(found):
        assert {name for name, _ in stage.inputs} <= {*before.outputs, *(name for name, _ in graph.inputs)}
        assert all(stage.spec(name) == graph.spec(name) for name, _ in stage.inputs)
    assert (found[-1].outputs, found[-1].losses) == (graph.outputs, graph.losses)


@pytest.mark.parametrize("contender", APART)
def test_a_strategy_of_another_package_computes_the_same(contender: str, tmp_path: Path) -> None:
    if missing(contender):
        pytest.skip(missing(contender))
    found = api.verify(f"{TINY}:tiny", [contender], threads=2, store=tmp_path)
    assert found.certified, found
    assert [(each.slices, bool(each.gradients)) for each in found.certificates] == [(2, "hook" in contender)]


def test_every_strategy_that_has_a_recipe_is_tried_here() -> None:
    assert {f"{info.name}+{name}" for info in frameworks().values() for name, each in info.strategies.items()
            if each.recipe} == {each.partition("[")[0].replace(":eager", "") for each in APART}


@pytest.mark.parametrize("contender", [
    "torch:eager+ddp[2]", "torch:eager+horovod[2]", "jax:jit+distributed[2]", "tensorflow:graph+multiworker[2]"])
def test_each_of_two_tells_when_it_sent_every_gradient(contender: str, tmp_path: Path) -> None:
    if missing(contender):
        pytest.skip(missing(contender))
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two processes need two cores")
    if not contender.startswith("torch:") and "PHOTOFINISH_STRATEGIES" not in os.environ:
        pytest.skip("make test-environments runs it")
    (result,) = api.race(f"{TINY}:tiny", [contender, "fake:steady"], threads=2, batch=8, launches=1, certify=False,
                         energy=False, seed=1, store=tmp_path)
    found = time_splits(result.race)
    assert [(each.contender, each.rank) for each in found] == [(contender, 0), (contender, 1)]
    gradients = 4 * models.find(f"{TINY}:tiny").graph().parameter_count
    for each in found:
        assert gradients <= each.sent <= 2 * gradients  # and running statistics, or the loss
        assert each.communicating > 0 and 0 < each.computing < each.seconds
        assert each.overlap <= each.communicating
