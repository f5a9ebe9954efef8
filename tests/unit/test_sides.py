"""Two networks are timed against each other only once they have shown the same."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from benchmarks.idioms.sides import Side, sides

OPTIONS = SimpleNamespace(blocks=1, seed=0)
BATCHES = [(np.array([1.0, 2.0]), np.array([3.0]))]


class Line(Side):
    """outputs = weight * values + statistic; a step moves the statistic."""

    def __init__(self, weight: float = 2.0, slope: float = 1.0, momentum: float = 0.5) -> None:
        self.weight, self.slope, self.momentum, self.statistic = weight, slope, momentum, 0.0
        self.trained = 0

    def step(self, task: str) -> Callable[..., Any]:
        def infer(values: np.ndarray, label: np.ndarray) -> np.ndarray:
            return self.weight * values + self.statistic

        def train(values: np.ndarray, label: np.ndarray) -> np.ndarray:
            self.trained += 1
            self.statistic = self.momentum
            return np.abs(self.weight * values - label).sum()  # type: ignore[no-any-return]

        return {"train": train, "infer": infer}[task]

    def gradients(self) -> list[np.ndarray]:
        return [np.array([self.slope]), np.zeros(1)]


def compared(theirs: Side, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr("benchmarks.paired.BLOCK_SECONDS", 0)
    return list(sides("line", "theirs", Line(), theirs, BATCHES, OPTIONS))


def test_the_same_is_timed_in_both_tasks_and_says_how_far_apart_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(Line(slope=1 + 1e-6), monkeypatch)
    assert [each.title for each in found] == ["line train: ours / theirs", "line infer: ours / theirs"]
    assert all(each.error == pytest.approx(1e-6, rel=1e-3) and each.limit == 1.02 for each in found)


@pytest.mark.parametrize(("theirs", "what"), [
    (Line(weight=2.001), "of the outputs"), (Line(slope=1.002), "of the gradients"),
    (Line(slope=float("nan")), "nan of the gradients"), (Line(momentum=0.6), "of the outputs after a step")])
def test_another_function_is_refused_before_it_is_timed(
        theirs: Line, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=what):
        compared(theirs, monkeypatch)
    assert theirs.trained <= 1
