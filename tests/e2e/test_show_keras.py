"""The printed Keras code runs on its own, and is what the contender runs."""

import importlib.util
from typing import Any

import numpy as np
import pytest

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("TensorFlow is not installed", allow_module_level=True)

from photofinish import data, models, weights
from photofinish.frameworks import Setup, flattened_order, load, native_source
from photofinish.graph import Graph
from photofinish.layers import Conv, Linear

BATCH = 4
NAMES = {"kernel": "weight", "gamma": "weight", "beta": "bias", "bias": "bias", "moving_mean": "running_mean",
         "moving_variance": "running_variance"}


def executed(graph: Graph) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "printed"}
    exec(native_source("tensorflow", graph), namespace)
    return namespace


def load_canonical_weights(model: Any, graph: Graph, state: dict[str, np.ndarray]) -> None:
    """By name, as anyone would: Keras' layers have the names of the graph's."""
    nodes = {node.name: node for node in graph.nodes}
    for variable in model.variables:
        layer, own = variable.path.split("/")[-2:]
        if layer not in nodes:
            continue  # the seed of a dropout
        node, group = nodes[layer], "parameter" if variable.trainable else "state"
        values = state[f"{group}/{layer}.{NAMES[own]}"]
        if own == "kernel" and isinstance(node.layer, Conv):
            values = values.transpose(2, 3, 0, 1) if node.layer.groups > 1 else values.transpose(2, 3, 1, 0)
        elif own == "kernel" and isinstance(node.layer, Linear):
            flattened = graph.spec(node.inputs[0]).flattened
            values = values.T[flattened_order(flattened, "CHW", "HWC")] if flattened else values.T
        variable.assign(values)


@pytest.mark.parametrize("name", models.all_models())
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
    outputs = printed["infer"](*(batch[key].transpose(0, 2, 3, 1) for key, _ in graph.inputs))
    assert {"output/" + key for key in outputs} == expected.keys()
    for key, output in outputs.items():
        np.testing.assert_array_equal(output.numpy(), expected["output/" + key])


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
