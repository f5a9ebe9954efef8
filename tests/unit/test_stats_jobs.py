"""The total time of a job, and where two contenders cross."""

from dataclasses import replace

import numpy as np
import pytest

from photofinish.stats.jobs import crossings, fieller, jobs
from photofinish.values import Phase, Race, WarmUp
from stats_races import World, least_by_chance, most_by_chance

EXACT = World(launch=0.0, round=0.0, step=0.0)


def race(*steps: float, first: tuple[float, ...], launches: int = 4, world: World = EXACT, seed: int = 1) -> Race:
    """Each contender starts in 1 s, imports in 2, and has two warm-up steps twice as long as its steps."""
    made = world.race(np.random.default_rng(seed), steps, launches)
    phases, warm_ups = [], []
    for number in range(1, launches + 1):
        for name, step, seconds in zip(made.contenders, steps, first):
            figures = {"start": 1.0, "import": 2.0, "compile:train": seconds - step, "first_step:train": seconds,
                       "warm_up:train": 4 * step, "first_step:infer": 50.0}
            phases += [Phase(number, name, phase, value) for phase, value in figures.items()]
            warm_ups.append(WarmUp(number, name, "train", (2 * step, 2 * step, step, step), "warmup", 2))
    return replace(made, phases=tuple(phases), warm_ups=tuple(warm_ups))


def test_a_job_is_preparation_first_step_warm_up_and_steps() -> None:
    (job,) = jobs(race(0.1, first=(5.0,)))
    assert job.seconds(3) == pytest.approx(1 + 2 + 5 + 0.2 + 0.2)
    assert job.seconds(103) == pytest.approx(1 + 2 + 5 + 0.2 + 0.2 + 100 * 0.1)
    assert job.settled_after == 3


def test_the_compiled_contender_wins_from_the_crossing_on() -> None:
    of = race(0.2, 0.1, first=(0.2, 30.0))
    eager, compiled = jobs(of)
    (crossing,) = crossings(of)
    assert (crossing.early, crossing.late) == ("a", "b")
    assert eager.seconds(crossing.steps) == pytest.approx(compiled.seconds(crossing.steps))
    assert crossing.low == pytest.approx(crossing.steps) and crossing.high == pytest.approx(crossing.steps)


def test_no_crossing_where_one_is_ahead_throughout() -> None:
    assert crossings(race(0.2, 0.1, first=(30.0, 0.1))) == ()


def test_a_cold_cache_moves_the_crossing() -> None:
    of = race(0.2, 0.1, first=(0.2, 5.0))
    of = replace(of, phases=of.phases + (Phase(0, "b", "first_step:train", 45.0, cache="cold"),))
    assert jobs(of)[1].cold == pytest.approx(40.0)
    assert jobs(of)[1].seconds(100, cold=True) == pytest.approx(jobs(of)[1].seconds(100) + 40.0)
    assert crossings(of, cold=True)[0].steps == pytest.approx(crossings(of)[0].steps + 40.0 / 0.1)


def test_what_was_not_measured_has_no_line() -> None:
    assert jobs(replace(race(0.1, first=(5.0,)), phases=())) == ()
    assert jobs(replace(race(0.1, first=(5.0,)), warm_ups=())) == ()
    (crossing,) = crossings(race(0.2, 0.1, first=(0.2, 30.0), launches=1))
    assert crossing.low is None and crossing.high is None


def test_fiellers_interval_covers_the_crossing() -> None:
    noise, trials = np.random.default_rng(3), 1500
    covered = unbounded = 0
    for _ in range(trials):
        low, high = fieller(noise.normal(30.0, 3.0, 6), noise.normal(-0.1, 0.03, 6))
        covered += low <= 300.0 and (high is None or high >= 300.0)
        unbounded += high is None
    assert trials - most_by_chance(trials, 0.05) <= covered <= trials - least_by_chance(trials, 0.05)
    assert unbounded < trials / 10


def test_without_a_difference_in_steps_the_crossing_is_not_bounded() -> None:
    fixed, step = np.array([30.0, 31.0, 29.0, 30.0]), np.array([-0.01, 0.01, -0.02, 0.01])
    assert fieller(fixed, step)[1] is None
