"""Name maps: what a source calls the layers of a graph, and that every family names all of them."""

import pytest

from photofinish import models
from photofinish.files import names
from photofinish.frameworks._torch.weights import places
from photofinish.graph import Graph, Tensor, block, record, scope
from photofinish.layers import Spec
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear

MAPPED = [(model, source) for model, entry in models.all_models().items() for source in entry.names]


@block
def unit(x: Tensor) -> Tensor:
    return batch_norm(conv(x, 4, 3))


def graph() -> Graph:
    def model(x: Tensor) -> Tensor:
        for stage in (1, 2):
            with scope(f"stage{stage}"):
                x = unit(unit(x))
        return linear(global_average_pool(x), 3, name="head")
    return record(model, {"image": Spec("CHW", (4, 8, 8))})


def test_numbers_words_choices_and_counts() -> None:
    found = names.translated(graph(), (
        ("stage2.unit{b}.conv{n}", "second.{b-1}.{n+10}"),
        ("stage{s}.*{b}.(conv|batch_norm){n}", "layer{s}.{#}.(c|n){n}"),
        ("head", "fc")))
    assert found == {
        "stage1.unit1.conv1": "layer1.1.c1", "stage1.unit1.batch_norm1": "layer1.1.n1",
        "stage1.unit2.conv1": "layer1.2.c1", "stage1.unit2.batch_norm1": "layer1.2.n1",
        "stage2.unit1.conv1": "second.0.11", "stage2.unit1.batch_norm1": "layer2.3.n1",
        "stage2.unit2.conv1": "second.1.11", "stage2.unit2.batch_norm1": "layer2.4.n1", "head": "fc"}


def test_an_array_may_be_named_apart_from_its_layer_and_what_is_not_named_is_left_out() -> None:
    found = names.translated(graph(), (("head.bias", "head_bias"), ("head", "fc")))
    assert found == {"head.bias": "head_bias", "head": "fc"}
    paths = {name: place.path for name, place in places(graph(), found).items()}
    assert paths == {"head.weight": "fc.weight", "head.bias": "head_bias"}


def test_a_pattern_fits_whole_names_only_and_its_dots_are_dots() -> None:
    assert names.translated(graph(), (("unit1.conv1", "x"), ("stage1xunit1.conv1", "y"), ("hea", "z"))) == {}


def test_what_a_source_has_beyond_the_graph() -> None:
    beyond = (("head", "fc"), ("", "cls.*"))
    assert names.left_over(beyond, "cls.predictions.bias")
    assert not names.left_over(beyond, "fc.weight") and not names.left_over(beyond, "pre.cls.bias")


@pytest.mark.parametrize(("model", "source"), MAPPED, ids=[f"{model}-{source}" for model, source in MAPPED])
def test_a_map_names_every_array_and_no_two_alike(model: str, source: str) -> None:
    entry = models.find(model)
    recorded = entry.graph()
    assert source in names.PYTORCH + names.KERAS
    found = places(recorded, names.translated(recorded, entry.names[source]))
    assert found.keys() == recorded.parameters.keys() | recorded.state.keys()
    assert len({place.path for place in found.values()}) == len(found)
