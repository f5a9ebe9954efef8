"""A fast reference is believed only while NumPy bears it out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from photofinish import models
from photofinish.frameworks import Setup
from photofinish.frameworks.numpy import Contestant
from photofinish.layers import BatchNorm
from photofinish.measure import proof
from photofinish.referee.tolerance import INFINITE
from photofinish.referee.witness import AGREED, disagreement

GRAPH = models.find("resnet18").small()


def exact() -> Contestant:
    return Contestant(Setup("reference", precision="float64"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("proof")
    proof.prepare(path, GRAPH, draws=0)
    proof.run(exact, path, proof.REFERENCE)
    proof.confirm(exact, path, "again")
    return path


def tampered(folder: Path, exercise: str, name: str, change: float) -> float:
    """The disagreement when one tensor of the second opinion is off by that share of its size."""
    path = folder / "again" / "draw0" / f"{exercise}.npz"
    kept = proof.load(path)
    np.savez(path, **dict(kept, **{name: kept[name] * (1 + change)}))
    try:
        return disagreement(folder, "again")[0]
    finally:
        np.savez(path, **kept)


def test_one_computation_agrees_with_itself(folder: Path) -> None:
    assert disagreement(folder, "again")[0] == 0.0


def test_float32_is_no_second_opinion(folder: Path) -> None:
    proof.confirm(lambda: Contestant(Setup("reference", precision="float32")), folder, "coarse")
    assert AGREED < disagreement(folder, "coarse")[0] < INFINITE


@pytest.mark.parametrize(("exercise", "prefix"), [("inference", "output/"), ("training", "gradient/"),
                                                  ("training", "loss"), ("sgd-step1", "state/")])
def test_a_tensor_that_is_off_is_seen(folder: Path, exercise: str, prefix: str) -> None:
    expected = proof.load(folder / proof.REFERENCE / "draw0" / f"{exercise}.npz")
    name = max((each for each in expected if each.startswith(prefix)), key=lambda each: np.abs(expected[each]).max())
    assert tampered(folder, exercise, name, 1e-6) > AGREED > tampered(folder, exercise, name, 1e-12)


def test_a_model_that_differs_in_a_constant_is_seen(tmp_path: Path) -> None:
    other = GRAPH.with_layers(lambda node: replace(node.layer, epsilon=1.001e-5)
                              if isinstance(node.layer, BatchNorm) else node.layer)
    proof.prepare(tmp_path, other, draws=0)
    proof.run(exact, tmp_path, proof.REFERENCE)
    proof.prepare(tmp_path, GRAPH, draws=0)
    proof.confirm(exact, tmp_path, "again")
    assert disagreement(tmp_path, "again")[0] > AGREED
