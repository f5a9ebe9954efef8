"""Keras 2 on Theano and on CNTK, as text: what is printed for one backend, and what is refused with a reason."""

import re
from types import ModuleType
from typing import Any

import pytest

from families.common import head
from parity.cases import cases
from photofinish.frameworks import Unsupported
from photofinish.frameworks._keras.any_backend import on_cntk, on_theano
from photofinish.graph import Graph, record
from photofinish.layers import Spec
from photofinish.vocabulary import batch_norm, conv, dropout, elu, flatten, linear, lstm

BACKENDS = [pytest.param(on_theano, id="theano"), pytest.param(on_cntk, id="cntk")]


def on_vectors(function: Any) -> Graph:
    return record(lambda x: head(function(linear(x, 6))), {"vector": Spec("C", (6,))})


@pytest.mark.parametrize("backend", BACKENDS)
def test_nothing_but_keras_is_asked(backend: ModuleType) -> None:
    printed = 0
    for case in cases().values():
        try:
            text = backend.native_source(case.graph)
        except Unsupported:
            continue
        assert not re.search(r"(?<![\w.])(tf|ops|T|C|theano|cntk)\.", text)
        compile(text, "printed", "exec")
        printed += 1
    assert printed > 100


def test_theano_takes_no_epsilon_that_float32_has_below_its_least() -> None:
    assert "epsilon=1.00000007e-05" in on_theano.native_source(on_vectors(lambda x: batch_norm(x, epsilon=1e-5)))
    assert "epsilon=0.001" in on_theano.native_source(on_vectors(lambda x: batch_norm(x, epsilon=1e-3)))
    with pytest.raises(Unsupported, match="no epsilon below 1e-05"):
        on_theano.native_source(on_vectors(lambda x: batch_norm(x, epsilon=1e-6)))


def test_on_cntk_a_small_image_is_padded_first() -> None:
    """Its own padding wants a window that fits into the image."""
    graph = record(lambda x: head(flatten(conv(x, 4, 3, padding=1))), {"x": Spec("CHW", (3, 2, 2))})
    (line,) = (each for each in on_cntk.native_source(graph).splitlines() if "ZeroPadding2D" in each)
    assert "ZeroPadding2D(1" in line and "same" not in on_cntk.native_source(graph)
    assert "ZeroPadding2D" not in on_theano.native_source(graph)


def test_on_cntk_no_running_average_is_of_what_was_dropped() -> None:
    with pytest.raises(Unsupported, match="behind a Dropout"):
        on_cntk.native_source(on_vectors(lambda x: batch_norm(linear(dropout(x, 0.5), 6))))
    assert "AveragesFirst" in on_cntk.native_source(on_vectors(lambda x: dropout(batch_norm(x), 0.5)))
    assert "AveragesFirst" not in on_cntk.native_source(on_vectors(lambda x: dropout(x, 0.5)))


def test_cntk_dilates_nothing() -> None:
    graph = record(lambda x: head(conv(x, 4, 3, dilation=2)), {"image": Spec("CHW", (3, 9, 9))})
    assert "dilation_rate=2" in on_theano.native_source(graph)
    with pytest.raises(Unsupported, match="no dilated convolution"):
        on_cntk.native_source(graph)


def test_what_one_backend_mends_is_printed_for_it_alone() -> None:
    normed = on_vectors(batch_norm)
    assert "variance - self.epsilon" in on_theano.native_source(normed)
    assert "variance - self.epsilon" not in on_cntk.native_source(normed)
    assert "keras.backend.switch" in on_theano.native_source(on_vectors(elu))
    assert "layers.ELU" in on_cntk.native_source(on_vectors(elu))
    recurrent = record(lambda x: head(lstm(x, 4)), {"sequence": Spec("TC", (5, 3))})
    assert "class LSTM" in on_cntk.native_source(recurrent) and "class LSTM" not in on_theano.native_source(recurrent)
