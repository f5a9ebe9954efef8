"""The states that a proof starts from: read, and moved by a few ulps, when they are asked for."""

from pathlib import Path

import numpy as np

from photofinish import weights
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant
from photofinish.graph import Graph, Tensor, loss, record
from photofinish.layers import SoftmaxCrossEntropy, Spec
from photofinish.measure import proof
from photofinish.measure.moved import Moved
from photofinish.optimizers import Adam
from photofinish.vocabulary import linear

ARRAYS = {"parameter/w": np.linspace(1, 2, 1000, dtype=np.float32), "state/mean": np.zeros(3, np.float32),
          "step": np.array(4, np.int64)}


def small() -> Graph:
    def model(x: Tensor) -> Tensor:
        logits = linear(x, 3, name="logits")
        loss(SoftmaxCrossEntropy(), logits, "label", Spec("", (), "int32"))
        return logits
    return record(model, {"x": Spec("C", (5,))})


def test_the_plain_draw_is_the_arrays_themselves() -> None:
    moved = Moved(ARRAYS, 0, seed=1)
    assert all(moved[name] is values for name, values in ARRAYS.items())


def test_a_draw_is_the_same_each_time_and_another_than_the_next() -> None:
    moved = Moved(ARRAYS, 1, seed=1)
    assert np.array_equal(moved["parameter/w"], moved["parameter/w"])
    assert not np.array_equal(moved["parameter/w"], Moved(ARRAYS, 2, seed=1)["parameter/w"])


def test_of_a_file_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "given.npz", **ARRAYS)
    seen = []
    with np.load(tmp_path / "given.npz") as file:
        moved = Moved(file, 1, seed=1, seen=lambda name, values: seen.append(name))
        assert "parameter/w" in moved and "velocity/w" not in moved and moved.get("velocity/w") is None
        assert sorted(moved) == sorted(ARRAYS) and len(moved) == len(ARRAYS) and not seen
        assert np.array_equal(moved["parameter/w"], Moved(ARRAYS, 1, seed=1)["parameter/w"])
        assert seen == ["parameter/w"]


def test_a_reference_leaves_the_states_of_its_free_run(tmp_path: Path) -> None:
    """What a forced step starts from is what that many steps make of the first state."""
    graph = small()
    plan = proof.prepare(tmp_path, graph, optimizers=(Adam(1e-3, epsilon=1e-4),), draws=1)
    proof.run(lambda: Contestant(Setup("reference", precision="float64")), tmp_path, proof.REFERENCE)
    alone = Contestant(Setup("reference", precision="float64"))
    alone.build(graph, plan.batch, plan.optimizers[0])
    given = proof.load(tmp_path / "given.npz")
    alone.put({name: values for name, values in given.items() if not name.startswith("batch")})
    alone.train_step(alone.feed({name[len("batch0/"):]: values for name, values in given.items()
                                 if name.startswith("batch0/")}))
    kept = proof.load(tmp_path / "reference" / "before-adam-2.npz")
    expected = {name: values.astype(np.float32) if values.dtype.kind == "f" else values
                for name, values in alone.each()}
    assert kept.keys() == expected.keys()
    assert all(np.array_equal(kept[name], values) for name, values in expected.items())
    assert weights.initial_state(graph, 0).keys() <= kept.keys()
