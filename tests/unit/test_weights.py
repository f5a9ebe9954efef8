"""Canonical weights and batches: the same everywhere, independent per name, and of the promised kind."""

import os
import subprocess
import sys

import numpy as np
import pytest

from photofinish import models
from photofinish.graph import record
from photofinish.layers import Parameter, Spec
from photofinish.vocabulary import conv, global_average_pool, linear, relu
from photofinish.weights import draw, initial_state, perturbed_state

GRAPH = models.find("digits_cnn").graph()


def image_model(function):
    return record(function, {"image": Spec("CHW", (3, 8, 8))})


def test_one_seed_gives_one_set_of_weights_and_another_gives_another():
    first, again, other = initial_state(GRAPH, 1), initial_state(GRAPH, 1), initial_state(GRAPH, 2)
    for name in first:
        assert np.array_equal(first[name], again[name])
    assert not np.array_equal(first["parameter/conv1.weight"], other["parameter/conv1.weight"])


def test_another_process_draws_the_same_weights():
    code = ("from photofinish.layers import Parameter; from photofinish.weights import draw\n"
            "print(draw(Parameter('a.weight', (3, 2)), 5).tobytes().hex())")
    environment = dict(os.environ, PYTHONHASHSEED="123", PYTHONPATH=os.pathsep.join(sys.path))
    output = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert output.stdout.strip() == draw(Parameter("a.weight", (3, 2)), 5).tobytes().hex()


def test_every_declared_array_is_drawn_in_its_shape():
    arrays = initial_state(GRAPH)
    declared = {"parameter/" + name: each for name, each in GRAPH.parameters.items()}
    declared.update({"state/" + name: each for name, each in GRAPH.state.items()})
    assert {name: values.shape for name, values in arrays.items()} == {
        name: each.shape for name, each in declared.items()}
    assert all(values.dtype == np.float32 for values in arrays.values())


def test_adding_a_layer_changes_no_other_layers_weights():
    def short(image):
        return linear(global_average_pool(conv(image, 4, 3, name="first")), 5, name="last")

    def long(image):
        x = relu(conv(conv(image, 4, 3, name="first"), 4, 3, name="middle"))
        return linear(global_average_pool(x), 5, name="last")

    before, after = initial_state(image_model(short)), initial_state(image_model(long))
    assert set(after) - set(before) == {"parameter/middle.weight"}
    for name in before:
        assert np.array_equal(before[name], after[name])


def test_two_names_never_share_their_numbers():
    first, second = draw(Parameter("a", (1000,)), 0), draw(Parameter("b", (1000,)), 0)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(1000)


@pytest.mark.parametrize("init, mean, variance", [
    ("normal", 0.0, 2 / 50), ("unit_normal", 0.0, 1.0), ("zeros", 0.0, 0.0), ("ones", 1.0, 0.0)])
def test_initial_values_have_the_promised_moments(init, mean, variance):
    count = 20_000
    values = draw(Parameter("w", (count,), init, fan_in=50), 0).astype(np.float64)
    assert abs(values.mean() - mean) <= 5 * np.sqrt(variance / count)
    assert abs(values.var() - variance) <= 5 * variance * np.sqrt(2 / count)


def test_perturbed_weights_leave_nothing_at_its_neutral_value():
    graph = models.find("efficientnet_b4").small()
    plain, moved = initial_state(graph), perturbed_state(graph)
    for name in plain:
        if name.endswith("weight") and plain[name].ndim > 1:
            assert np.array_equal(plain[name], moved[name])
        else:
            assert (plain[name] != moved[name]).all()
            assert "variance" not in name or (moved[name] > 0).all()
