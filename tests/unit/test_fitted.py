"""Running statistics of a proof that fit its weights, where those drawn amplify rounding."""

from pathlib import Path

import numpy as np
import pytest

from photofinish import api
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant as Numpy
from photofinish.measure import proof
from photofinish.models import find
from photofinish.referee.tolerance import size
from photofinish.runner import fitted, reference

FITTED = "drawn running statistics amplify rounding: those of the batch take their place"


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("proof")
    proof.prepare(folder, find("efficientnet_b0").small(), draws=1, exact_draws=6)
    confirm(folder)
    return folder


def confirm(folder: Path) -> None:
    proof.confirm(lambda: Numpy(Setup("reference", precision="float64")), folder, "numpy")


def outputs(folder: Path, exercise: str) -> np.ndarray:
    return proof.load(folder / "numpy" / "draw0" / f"{exercise}.npz")["output/linear1"]


def test_inference_is_as_training_but_for_what_tells_who_normalises_by_the_batch(confirmed: Path) -> None:
    before, drawn = proof.load(confirmed / "given.npz"), outputs(confirmed, "inference")
    given = fitted.fit(confirmed, "numpy")
    after = proof.load(confirmed / "given.npz")
    assert given.keys() == {name for name in before if name.startswith("state/")}
    assert all(np.array_equal(after[name], given.get(name, before[name])) for name in before)
    assert all(values.dtype == np.float32 for values in after.values() if values.dtype.kind == "f")
    confirm(confirmed)
    training, inference = outputs(confirmed, "training"), outputs(confirmed, "inference")
    assert size(drawn - training) > 0.5 * size(training)
    assert 1e-3 * size(training) < size(inference - training) < 0.1 * size(training)


def test_rounding_is_amplified_where_float64_parts(tmp_path: Path) -> None:
    """What is missing or has another shape is no rounding: it speaks against the stand-in."""
    exact = {"output/linear1": np.ones((8, 10)), "output/zeros": np.zeros(3)}
    for label, off in (("reference", 0.0), ("near", fitted.AMPLIFIED / 2), ("far", fitted.AMPLIFIED * 2)):
        (tmp_path / label / "draw0").mkdir(parents=True)
        np.savez(tmp_path / label / "draw0" / "inference.npz", **{name: x * (1 + off) for name, x in exact.items()})
    assert not fitted.amplifies(tmp_path, "near") and fitted.amplifies(tmp_path, "far")
    np.savez(tmp_path / "far" / "draw0" / "inference.npz", **{"output/linear1": np.ones((8, 1))})
    assert not fitted.amplifies(tmp_path, "far")


@pytest.mark.parametrize("contender", ["torch:eager", "onnxruntime"])  # the second trains nothing
def test_a_proof_that_needs_them_goes_on_with_them(contender: str, tmp_path: Path,
                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "LARGE", 0)  # the smallest model has a stand-in that parts from NumPy
    monkeypatch.setattr(reference.Reference, "_certified", lambda self, fast: True)  # it is, in other tests
    monkeypatch.setattr(fitted, "AMPLIFIED", -1.0)
    told: list[str] = []
    found = api.verify("resnet18", [contender], reduced=True, store=tmp_path,
                       listener=lambda progress: told.append(progress.text))
    (earned,) = found.certificates
    assert earned.passed
    assert earned.reference == "tensorflow float64, confirmed by numpy, running statistics fitted to the batch"
    assert told.count(FITTED) == 1 and told[told.index(FITTED) + 1] == "what NumPy makes of the model"
