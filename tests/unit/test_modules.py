"""Graphs written out as classes of modules, where no framework is needed to see it: Paddle's."""

from collections.abc import Callable

import numpy as np
import pytest

from photofinish.frameworks._paddle.source import native_source
from photofinish.frameworks._paddle.weights import places
from photofinish.graph import Graph, Tensor, record
from photofinish.layers import Spec
from photofinish.models import find
from photofinish.vocabulary import average_pool, conv, embedding, flatten, gru, linear, max_pool, relu, scan, tanh

IMAGE = {"image": Spec("CHW", (4, 7, 5))}


def line_of(function: Callable[[Tensor], Tensor], word: str) -> str:
    """The line of the source that says `word`."""
    found = [line.strip() for line in native_source(record(function, IMAGE)).splitlines() if word in line]
    return found[0]


def tied(words: Tensor) -> Tensor:
    x = tanh(linear(embedding(words, 11, 6, name="table"), 6, bias=False, name="inner"))
    return linear(x, 11, weight="table.weight", name="guess")


TIED = record(tied, {"words": Spec("T", (7,), "int32")})


def test_a_linear_layer_of_paddle_keeps_its_weight_turned_round_unless_it_is_a_table_s() -> None:
    found = places(TIED)
    assert {name for name, place in found.items() if place.turned} == {"parameter/inner.weight"}
    source = native_source(TIED)
    assert "self.guess = TiedLinear(6, 11)" in source and "self.guess.weight = self.table.weight" in source


def gated() -> Graph:
    body = record(lambda carry, x: (tanh(linear(carry, 4, name="gate") + linear(x, 4)),) * 2,
                  {"carry": Spec("C", (4,)), "x": Spec("C", (3,))})

    def model(carry: Tensor, sequence: Tensor) -> Tensor:
        return gru(scan(body, carry, sequence, name="scan")[1], 5, name="gru")
    return record(model, {"carry": Spec("C", (4,)), "sequence": Spec("TC", (5, 3))})


def test_what_is_put_into_a_place_comes_back() -> None:
    graph = gated()
    found = places(graph)
    assert found["parameter/scan.gate.weight"].turned and found["parameter/scan.gate.weight"].path == "scan.gate.weight"
    assert found["parameter/gru.input_weight"].path == "gru.weight_ih_l0"
    for name, place in found.items():
        array = np.random.RandomState(0).standard_normal(graph.parameters[name.partition("/")[2]].shape)
        native = place.native(array)
        assert not np.array_equal(native, array) or not (place.turned or place.order is not None)
        np.testing.assert_array_equal(place.canonical(native), array)


@pytest.mark.parametrize(("function", "word", "expected"), [
    (lambda x: conv(x, 3, 3, padding=(0, 1, 2, 3)), "nn.Conv2D",
     "self.conv1 = nn.Conv2D(4, 3, 3, padding=[0, 2, 1, 3], bias_attr=False)"),
    (lambda x: max_pool(x, 3, 2, padding=(1, 0), ceil=True), "F.max_pool2d",
     "F.max_pool2d(image, 3, 2, padding=(1, 0))"),
    (lambda x: max_pool(x, 2, 2, padding=1, ceil=True), "F.max_pool2d",
     "F.max_pool2d(image, 2, 2, padding=[1, 0, 1, 0])"),
    (lambda x: average_pool(x, 2, 2, padding=(0, 1), ceil=True, count_padding=True), "F.avg_pool2d",
     "F.avg_pool2d(F.pad(image, [1, 1, 0, 0]), 2, 2, padding=[0, 1, 0, 0])"),
], ids=["conv", "max-pool", "no window in the padding", "average-pool"])
def test_padding_is_what_the_windows_read(function: Callable[[Tensor], Tensor], word: str, expected: str) -> None:
    assert line_of(function, word).endswith(expected)


def test_names_that_a_layer_has_itself_are_left_to_it() -> None:
    def awkward(image: Tensor) -> Tensor:
        return linear(flatten(relu(conv(image, 4, 3, name="sublayers"))), 5, name="train")
    assert {place.path for place in places(record(awkward, IMAGE)).values()} == {
        "sublayers_.weight", "train_.weight", "train_.bias"}


def test_it_reads_as_a_person_would_write_it() -> None:
    basic = native_source(find("resnet18").small()).split("class Basic(nn.Layer):")[1].split("class")[0]
    assert basic.strip() == """\
def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2D(8, 8, 3, padding=1, bias_attr=False)
        self.batch_norm1 = nn.BatchNorm2D(8)
        self.conv2 = nn.Conv2D(8, 8, 3, padding=1, bias_attr=False)
        self.batch_norm2 = nn.BatchNorm2D(8)

    def forward(self, x):
        y = F.relu(self.batch_norm1(self.conv1(x)))
        y = self.batch_norm2(self.conv2(y))
        y += x
        return F.relu(y)"""
