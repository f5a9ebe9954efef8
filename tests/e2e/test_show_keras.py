"""The printed Keras code runs on its own, and is what the contender runs."""

import importlib.util
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("TensorFlow is not installed", allow_module_level=True)

from photofinish import data, models, weights
from photofinish.frameworks import Setup, load, native_source
from photofinish.frameworks._keras.weights import places
from photofinish.graph import Graph
from zoo import ONE_OF_EACH_FILE

BATCH = 4


def executed(graph: Graph) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "printed"}
    exec(native_source("keras", graph), namespace)
    return namespace


def load_canonical_weights(model: Any, graph: Graph, state: dict[str, np.ndarray]) -> None:
    """Keras' layers have the names of the graph's."""
    found = places(graph, model)
    assert found.keys() == state.keys()
    for name, place in found.items():
        place.store(state[name], place.variable)


def channels_last(values: np.ndarray) -> np.ndarray:
    return values.transpose(0, 2, 3, 1) if values.ndim == 4 else values


@pytest.mark.parametrize("name", ONE_OF_EACH_FILE)
def test_printed_code_computes_what_the_contender_computes(name: str) -> None:
    graph = models.find(name).small()
    state, batch = weights.perturbed_state(graph), data.draw_batch(graph, BATCH, seed=0)
    contestant = load("tensorflow")(Setup("graph"))
    contestant.build(graph, BATCH)
    contestant.put(state)
    expected = contestant.read(contestant.infer(contestant.feed(batch)))
    printed = executed(graph)
    assert printed["GRAPH"] == graph.digest
    load_canonical_weights(printed["model"], graph, state)
    outputs = printed["infer"](*(channels_last(batch[key]) for key, _ in graph.inputs))
    assert {"output/" + key for key in outputs} == expected.keys()
    for key, output in outputs.items():
        np.testing.assert_array_equal(output.numpy(), channels_last(expected["output/" + key]))


def test_full_size_has_the_graphs_parameters() -> None:
    graph = models.find("resnet18").graph()
    printed = executed(graph)
    assert printed["GRAPH"] == graph.digest
    assert sum(int(np.prod(each.shape)) for each in printed["model"].trainable_variables) == graph.parameter_count


def test_the_printed_step_trains() -> None:
    graph = models.find("digits_cnn").small()
    printed = executed(graph)
    batch = data.draw_batch(graph, BATCH, seed=0)
    losses = [float(printed["train_step"](batch["image"].transpose(0, 2, 3, 1), batch["label"])) for _ in range(10)]
    assert losses[-1] < losses[0] / 2
