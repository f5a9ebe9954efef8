"""What a loop over batches waited for, by a scripted clock."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from photofinish import models
from photofinish.measure.fit import Fit
from photofinish.measure.passes import Passes

BATCH, STEPS = 32, 50
FETCH, STEP = 0.006, 0.020  # seconds: of the host for a batch, and of a step


class Scripted:
    """Batches take FETCH. A step takes STEP, of which `under_way` is still to come when its call returns: as much as a
    framework hands over at once, which goes on beside the host."""

    def __init__(self, device: str, under_way: float, first: float) -> None:
        self.setup = SimpleNamespace(device=device)
        self.now = self.done = 0.0
        self.under_way, self.compiling = under_way, first
        self.clock = lambda: self.now

    def feed(self, arrays: Any) -> Any:
        self.now += FETCH
        return arrays

    def train_step(self, batch: Any) -> float:
        self.now += STEP - self.under_way + self.compiling
        self.compiling = 0.0
        self.done = max(self.done, self.now) + self.under_way
        return self.done

    def wait(self, handle: float) -> None:
        self.now = max(self.now, handle)

    def kept(self, handle: Any) -> Any:
        return handle

    def read(self, handle: Any) -> dict[str, Any]:
        return {"loss": np.float32(1)}


class Overwriting(Scripted):
    """Its steps lose 1, 2, 3..., each written over the one before."""

    def __init__(self) -> None:
        super().__init__("cpu", 0.0, 0.0)
        self.loss = np.zeros((), np.float32)

    def train_step(self, batch: Any) -> Any:
        super().train_step(batch)
        self.loss += 1
        return self.loss

    def wait(self, handle: Any) -> None:
        pass

    def kept(self, handle: Any) -> Any:
        return handle.copy()

    def read(self, handle: Any) -> dict[str, Any]:
        return {"loss": handle}


@pytest.fixture
def samples(tmp_path: Path) -> Iterator[Path]:
    np.save(tmp_path / "train-inputs.npy", np.zeros((BATCH * STEPS - 1, 1, 8, 8), np.float32))
    np.save(tmp_path / "train-labels.npy", np.zeros(BATCH * STEPS - 1, np.int64))
    yield tmp_path


@pytest.mark.parametrize(("device", "under_way", "first", "told"), [
    ("cpu", 0.0, 0.0, True), ("cpu", 0.0, 5.0, True),
    ("cpu", 1e-5, 0.0, True),  # to see that a step is done takes some time, too
    ("cpu", 0.019, 0.0, False), ("cpu", 0.002, 0.0, False), ("cpu", 0.019, 5.0, False), ("cuda", 0.0, 0.0, False)])
def test_what_a_loop_waited_for_is_told_where_no_step_went_on_meanwhile(
        device: str, under_way: float, first: float, told: bool, samples: Path) -> None:
    """`first` is what the first step compiles for."""
    graph = models.find("digits_cnn").graph(None, None)
    epoch = Passes(Scripted(device, under_way, first), "numpy", graph, BATCH, samples, 0).epoch(1)
    assert epoch["waited"] == (pytest.approx(FETCH * STEPS) if told else None)
    assert epoch["first_batch"] == pytest.approx(FETCH) and epoch["first_step"] == pytest.approx(STEP + first)


def test_the_loss_of_each_step_is_kept_where_the_next_is_written_over_it(samples: Path) -> None:
    graph = models.find("digits_cnn").graph()
    assert Passes(Overwriting(), "numpy", graph, BATCH, samples, 0).epoch(1)["loss"] == (1 + STEPS) / 2
    for kind in ("inputs", "labels"):
        np.save(samples / f"validation-{kind}.npy", np.load(samples / f"train-{kind}.npy"))
    np.save(samples / "orders.npy", np.arange(4 * BATCH).reshape(1, -1))
    told = Fit(Overwriting(), graph, BATCH, samples, samples / "orders.npy").epoch(1)
    assert told["first_losses"] == [1, 2, 3, 4]
