"""Every graph is a valid ONNX model in inference form. What engines compute with it: tests/parity."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from families.common import BATCH  # noqa: E402
from parity.cases import cases  # noqa: E402
from photofinish import models, weights  # noqa: E402
from photofinish.frameworks import Unsupported  # noqa: E402
from photofinish.frameworks._onnx import model as onnx_model  # noqa: E402
from photofinish.frameworks._onnx.source import native_source, write  # noqa: E402
from photofinish.graph import Graph  # noqa: E402


def exported(graph: Graph, batch: int = BATCH) -> Any:
    return onnx_model.model(graph, write(graph, batch), weights.perturbed_state(graph))


def operators(graph: Any) -> Iterator[str]:
    """Of a GraphProto, those of loops in it included."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            yield from operators(attribute.g)


def shapes(values: Any) -> dict[str, tuple[int, ...]]:
    return {each.name: tuple(size.dim_value for size in each.type.tensor_type.shape.dim) for each in values}


def initializers(made: Any) -> dict[str, np.ndarray]:
    return {each.name: onnx.numpy_helper.to_array(each) for each in made.graph.initializer}


def valid(graph: Graph) -> None:
    """By ONNX's checker and its shape inference; inputs and outputs have the graph's names, and shapes with a batch."""
    made = exported(graph)
    onnx.checker.check_model(made, full_check=True)
    declared = {name: (BATCH, *spec.shape) for name, spec in graph.specs.items()}
    for name, shape in {**shapes(made.graph.input), **shapes(made.graph.output)}.items():
        assert shape == declared[name], name
    assert [each.name for each in made.graph.output] == list(graph.outputs)
    names = Counter(name for node in made.graph.node for name in node.output)
    assert max(names.values()) == 1


@pytest.mark.parametrize("name", cases())
def test_an_example_is_a_valid_model(name: str) -> None:
    valid(cases()[name].graph)


@pytest.mark.parametrize("name", models.all_models())
def test_a_reduced_model_of_the_zoo_is_a_valid_model(name: str) -> None:
    valid(models.find(name).small())


@pytest.mark.parametrize(("name", "shape"), [("tied", (6, 6)), ("embedding-tied", (11, 6)),
                                             ("embedding-three-times-tied", (11, 6))])
def test_tied_weights_are_one_initializer(name: str, shape: tuple[int, ...]) -> None:
    found = [each for each, values in initializers(exported(cases()[name].graph)).items() if values.shape == shape]
    assert len(found) == 1 and found[0] in cases()[name].graph.parameters


def test_the_file_has_the_graphs_weights_and_digest() -> None:
    graph = models.find("digits_cnn").graph()
    made, state = exported(graph), weights.perturbed_state(graph)
    found = initializers(made)
    assert len(found) == len(state)
    for name, values in state.items():
        np.testing.assert_array_equal(found[name.split("/", 1)[1]], values)
    assert {each.key: each.value for each in made.metadata_props} == {"photofinish.graph": graph.digest}


def test_what_only_training_has_is_left_out() -> None:
    graph = cases()["auxiliary"].graph
    assert any("auxiliary" in name for name in graph.parameters)
    assert not any("auxiliary" in name for name in initializers(exported(graph)))
    for name in ("dropout", "stochastic-depth"):
        assert not {"Dropout", "Mul", "RandomUniform"} & set(operators(exported(cases()[name].graph).graph))


def test_fused_operators_are_used_where_there_are_any() -> None:
    wanted = {"lstm": "LSTM", "gru-bidirectional": "GRU", "layer-norm": "LayerNormalization", "scan": "Scan",
              "batch-norm": "BatchNormalization", "linear": "Gemm", "local-response-norm": "LRN", "conv": "Conv"}
    for name, operator in wanted.items():
        assert operator in set(operators(exported(cases()[name].graph).graph)), name


def test_the_printed_model_has_shapes_of_weights_and_no_values() -> None:
    graph = models.find("vgg16").graph()
    text = native_source(graph, batch=8)
    assert "float[8,3,224,224] image" in text and "MaxPool" in text and graph.digest in text
    assert "float[4096,25088]" in text and len(text) < 50_000  # 138 million weights are not in it


def test_weights_that_one_file_cannot_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_model, "LIMIT", 100_000)
    with pytest.raises(Unsupported, match="2 GiB"):
        exported(models.find("digits_cnn").graph())


def test_the_command_prints_and_writes_the_model(command: Any, tmp_path: Path) -> None:
    printed = command("show", "digits_cnn", "--as", "onnx")
    assert printed.code == 0 and "float[32,1,8,8] image" in printed.out
    written = command("show", "digits_cnn", "--as", "onnx", "--output", "net.onnx")
    assert written.code == 0 and "net.onnx" in written.out
    made = onnx.load(str(tmp_path / "net.onnx"))
    onnx.checker.check_model(made, full_check=True)
    graph = models.find("digits_cnn").graph()
    state = weights.initial_state(graph)
    for name, values in initializers(made).items():
        group = "parameter" if name in graph.parameters else "state"
        np.testing.assert_array_equal(values, state[f"{group}/{name}"])
    refused = command("show", "digits_cnn", "--as", "onnx", "--output", "no/such/folder/net.onnx")
    assert refused.code == 2 and "cannot write" in refused.err


def test_without_onnx_the_command_says_how_to_get_it(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from photofinish.cli import show
    monkeypatch.setattr(show.importlib.util, "find_spec", lambda name: None)
    for more in ([], ["--output", "net.onnx"]):
        run = command("show", "digits_cnn", "--as", "onnx", *more)
        assert run.code == 2 and "onnx is not installed" in run.err and "pip install onnx" in run.err
