"""A gradient whose terms cancel is no reason to disbelieve a fast reference; one that is wrong is."""

from pathlib import Path

import numpy as np
import pytest

from photofinish import models
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant
from photofinish.measure import proof
from photofinish.referee import witness
from photofinish.referee.cancelled import disagreement
from photofinish.referee.tolerance import size
from photofinish.referee.witness import AGREED

GRAPH = models.find("digits_cnn").small()
SIDES = (proof.REFERENCE, "again")


def exact() -> Contestant:
    return Contestant(Setup("reference", precision="float64"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    proof.prepare(tmp_path, GRAPH, draws=0)
    proof.run(exact, tmp_path, proof.REFERENCE)
    proof.confirm(exact, tmp_path, "again")
    return tmp_path


def left(folder: Path, of: float, by: float) -> None:
    """Of the quietest weight's gradient only so much of the loudest gradient is left, and the two differ by so much."""
    files = [folder / side / "draw0" / "training.npz" for side in SIDES]
    kept = [proof.load(each) for each in files]
    loudest = max(size(values) for name, values in kept[0].items() if name.startswith("gradient/"))
    name = next(each for each in kept[0] if each.startswith("gradient/") and each.endswith("bias"))
    layer = name.rpartition(".")[0]
    for path, arrays, more in zip(files, kept, (0.0, by)):
        quiet = {each: np.full_like(values, loudest * (of + more)) for each, values in arrays.items()
                 if each.startswith(layer)}
        np.savez(path, **dict(arrays, **quiet))


@pytest.mark.parametrize(("by", "believed"), [(1e-15, True), (1e-10, False)])
def test_rounding_of_terms_that_cancel_is_no_disagreement(folder: Path, by: float, believed: bool) -> None:
    left(folder, of=1e-9, by=by)
    assert witness.disagreement(folder, "again")[0] > AGREED
    assert (disagreement(folder, "again")[0] <= AGREED) is believed


def test_what_differs_elsewhere_is_told_all_the_same(folder: Path) -> None:
    path = folder / "again" / "draw0" / "inference.npz"
    kept = proof.load(path)
    name = next(iter(kept))
    np.savez(path, **dict(kept, **{name: kept[name] * (1 + 1e-6)}))
    assert disagreement(folder, "again") == witness.disagreement(folder, "again")
    assert disagreement(folder, "again")[0] > AGREED
