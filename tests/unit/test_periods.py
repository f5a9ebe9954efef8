"""Steps of which only every so many do something, as LocalSGD's averaging: they are timed in whole periods."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from photofinish.measure.engine import Engine
from photofinish.render.quantities import plain
from photofinish.reports import distribution
from photofinish.runner import energy
from photofinish.runner.answers import complaint
from photofinish.stats import judge, paired, plan
from photofinish.values import Block, Case, Race

PERIOD, COMPUTING, AVERAGING = 4, 0.3, 0.4
MEAN = COMPUTING + AVERAGING / PERIOD


class Averaging:
    """Computes in every step, and averages in the first after its weights were loaded and every fourth from there."""

    period = PERIOD

    def __init__(self) -> None:
        self.now, self.step = 0.0, 0

    def clock(self) -> float:
        return self.now

    def put(self, arrays: Any) -> None:
        self.step = 0

    def train_step(self, batch: Any) -> None:
        self.now += COMPUTING + (AVERAGING if self.step % PERIOD == 0 else 0.0)
        self.step += 1

    def infer(self, batch: Any) -> None:
        self.now += COMPUTING

    def wait(self, handle: Any) -> None:
        pass

    def read(self, handle: Any) -> dict[str, np.ndarray]:
        return {"loss": np.array(1.0)}

    def trace(self, step: Any, batches: list[Any]) -> list[Any]:
        return batches


@pytest.fixture
def engine() -> Engine:
    return Engine(Averaging(), {}, [1])


@pytest.mark.parametrize(("asked", "taken"), [(1, 4), (4, 4), (5, 8)])
def test_a_step_counts_as_the_mean_of_its_period(engine: Engine, asked: int, taken: int) -> None:
    told = engine.block("train", asked)
    assert told["seconds"] == pytest.approx([MEAN] * taken) and told["period"] == PERIOD
    assert told["resume"] == COMPUTING + AVERAGING
    assert len(engine.trace("train", asked) or ()) == taken


def test_inference_has_no_periods(engine: Engine) -> None:
    told = engine.block("infer", 3)
    assert told["seconds"] == pytest.approx([COMPUTING] * 3) and "period" not in told


@pytest.mark.parametrize(("period", "steps", "right"), [({}, 3, True), ({}, 4, False), ({"period": 4}, 4, True),
                                                        ({"period": 4}, 3, False), ({"period": 0}, 3, False)])
def test_an_answer_has_whole_periods(period: dict[str, int], steps: int, right: bool) -> None:
    reply = {"seconds": [0.1] * steps, "cpu": 0.1, "wall": 0.4, "faults": 0, "foreign": None, "resume": 0.1,
             "loss": None, "memory": 1, "device_memory": None, **period}
    assert (complaint("block", {"steps": 3}, reply) == "") == right


def test_energy_is_divided_among_the_steps_that_were_taken() -> None:
    at = [0.0]

    def block(steps: int) -> Block:
        taken = -(-steps // PERIOD) * PERIOD
        at[0] += 1 + taken
        return Block(1, 1, 0, "a", "train", (1.0,) * taken, 0.1, 0, 0.0, 1.0)

    meter: Any = SimpleNamespace(read=lambda: SimpleNamespace(clock=at[0]), busy=lambda before: None,
                                 used=lambda before, after: {"package": 10 * (after.clock - before.clock)})
    taken = energy.measure(meter, block, 5)
    assert (taken.steps, taken.seconds, taken.joules) == (8, 8.0, {"package": 80.0})


def test_the_pilot_knows_that_a_block_is_no_shorter_than_a_period() -> None:
    assert [plan.block_steps(0.3, period=period) for period in (1, 4)] == [2, 4]
    costs = [plan.pilot(1, 1, 1.0, (2.0,), periods=periods).seconds for periods in ((), (4,))]
    assert costs[1] / costs[0] == pytest.approx(5 / 2)


def test_a_report_says_whose_steps_are_means() -> None:
    blocks = tuple(Block(1, 1, 0, name, "train", (0.4,) * PERIOD, 0.1, 0, 0.0, 0.1, period=period)
                   for name, period in (("fake:steady", 1), ("fake:steady+mean[2]", PERIOD)))
    race = Race("r", Case("m", "d", "train", 8, (1,), threads=2), ("fake:steady", "fake:steady+mean[2]"), blocks=blocks)
    (caption,) = (getattr(each, "caption", "") for each in distribution.section(judge(race)).blocks[1:])
    assert "Each step of fake:steady+mean[2] is the mean of 4" in plain(caption) and caption.count("is the mean") == 1
    assert paired.timed_blocks(race)[1].period == PERIOD
