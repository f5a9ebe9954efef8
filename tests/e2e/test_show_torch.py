"""The printed PyTorch code runs on its own and computes what the graph says."""

import inspect
import textwrap
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from photofinish import data, models, weights  # noqa: E402
from photofinish.frameworks import Setup, load, native_source  # noqa: E402
from photofinish.frameworks._torch.weights import places  # noqa: E402
from photofinish.graph import Graph  # noqa: E402
from zoo import ONE_OF_EACH_FILE  # noqa: E402

BATCH = 4


def executed(graph: Graph) -> dict[str, Any]:
    namespace: dict[str, Any] = {}
    exec(native_source("torch", graph), namespace)
    return namespace


def with_canonical_weights(model: Any, graph: Graph, state: dict[str, np.ndarray]) -> Any:
    """The state dictionary has the graph's names wherever PyTorch's own modules leave the choice."""
    given = {name.split("/", 1)[1]: values for name, values in state.items()}
    own = model.state_dict()
    named = {place.path: torch.tensor(place.native(given[name])) for name, place in places(graph).items()}
    assert not named.keys() - own.keys()
    model.load_state_dict(named, strict=False)
    return model


def as_tensor(values: np.ndarray) -> Any:
    """Integers as PyTorch's indices."""
    return torch.tensor(values, dtype=torch.int64 if values.dtype.kind == "i" else None)


@pytest.mark.parametrize("name", ONE_OF_EACH_FILE)
def test_printed_code_computes_what_the_contender_computes(name: str) -> None:
    graph = models.find(name).small()
    state, batch = weights.perturbed_state(graph), data.draw_batch(graph, BATCH, seed=0)
    printed = executed(graph)
    assert printed["GRAPH"] == graph.digest
    model = with_canonical_weights(printed["Model"](), graph, state).eval()
    with torch.no_grad():
        outputs = model(*(as_tensor(batch[key]) for key, _ in graph.inputs))
    contestant = load("torch")(Setup("eager"))
    contestant.build(graph, BATCH)
    contestant.put(state)
    expected = contestant.read(contestant.infer(contestant.feed(batch)))
    assert list(expected) == ["output/" + key for key in graph.outputs]
    for values, output in zip(expected.values(), outputs if isinstance(outputs, tuple) else (outputs,)):
        np.testing.assert_allclose(output.numpy(), values, rtol=1e-5, atol=1e-6 * np.abs(values).max())


def test_full_size_has_the_graphs_parameters() -> None:
    graph = models.find("resnet18").graph()
    printed = executed(graph)
    assert printed["GRAPH"] == graph.digest
    assert sum(each.numel() for each in printed["Model"]().parameters()) == graph.parameter_count


def test_the_training_loop_in_its_docstring_trains() -> None:
    graph = models.find("digits_cnn").small()
    printed = executed(graph)
    torch.manual_seed(0)
    batch = data.draw_batch(graph, BATCH, seed=0)
    pair = torch.tensor(batch["image"]), torch.tensor(batch["label"], dtype=torch.int64)
    seen: list[float] = []
    loop = [line for line in inspect.cleandoc(printed["__doc__"]).splitlines() if line.startswith("    ")]
    code = textwrap.dedent("\n".join([*loop, "        seen.append(loss.item())"]))
    exec(code, dict(printed, batches=[pair] * 10, seen=seen))
    assert len(seen) == 10
    assert seen[-1] < seen[0] / 2
