"""The total time of a job, and from when on a slow starter has paid for itself."""

from dataclasses import replace

import numpy as np
import pytest

from photofinish.stats.jobs import BreakEven, break_evens, fieller, first_run, jobs
from photofinish.values import Epoch, Phase, Race, Training, WarmUp
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


@pytest.mark.parametrize(("steps", "seconds"), [(1, 0.0), (2, 0.2), (3, 0.4), (4, 0.5), (103, 10.4)])
def test_a_job_that_ends_within_the_warm_up_has_its_steps_alone(steps: int, seconds: float) -> None:
    of = race(0.1, first=(5.0,))
    cold = Phase(0, "a", "first_step:train", 12.0, cache="cold")
    assert first_run(of, steps)["a"][1] == pytest.approx(1 + 2 + 5 + seconds)
    assert first_run(replace(of, phases=(*of.phases, cold)), steps)["a"][1] == pytest.approx(1 + 2 + 12 + seconds)


def of_b(of: Race, cold: bool = False) -> BreakEven:
    return next(each for each in break_evens(of, cold) if (each.contender, each.against) == ("b", "a"))


def test_the_compiled_contender_is_ahead_from_where_the_lines_cross() -> None:
    of = race(0.2, 0.1, first=(0.2, 30.0))
    eager, compiled = jobs(of)
    found = of_b(of)
    assert found.ahead == "from" and found.steps is not None
    assert eager.seconds(found.steps) == pytest.approx(compiled.seconds(found.steps))
    assert found.low == pytest.approx(found.steps) and found.high == pytest.approx(found.steps)
    (other,) = (each for each in break_evens(of) if each.contender == "a")
    assert (other.ahead, other.steps) == ("until", found.steps)


def test_who_compiles_longer_and_steps_no_faster_never_breaks_even() -> None:
    assert of_b(race(0.2, 0.1, first=(30.0, 0.1))) == BreakEven("b", "a", False, "always")
    assert of_b(race(0.1, 0.2, first=(0.1, 30.0))) == BreakEven("b", "a", False, "never")


def test_with_equal_steps_whoever_starts_sooner_is_always_ahead() -> None:
    sooner, later = break_evens(race(0.1, 0.1, first=(4.0, 5.0)))
    assert (sooner.ahead, sooner.steps) == ("always", None) and later.ahead == "never"


def test_never_tells_from_when_on_it_is_not_ruled_out() -> None:
    noise = World(launch=0.05, round=0.0, step=0.0)
    found = of_b(race(0.1, 0.1005, first=(0.1, 30.0), world=noise, seed=2))
    assert found.ahead == "never" and found.low is not None and found.low > 0


def test_a_cold_cache_moves_the_break_even() -> None:
    of = race(0.2, 0.1, first=(0.2, 5.0))
    of = replace(of, phases=of.phases + (Phase(0, "b", "first_step:train", 45.0, cache="cold"),))
    assert jobs(of)[1].cold == pytest.approx(40.0)
    assert jobs(of)[1].seconds(100, cold=True) == pytest.approx(jobs(of)[1].seconds(100) + 40.0)
    warm, cold = of_b(of), of_b(of, cold=True)
    assert warm.steps is not None and cold.steps == pytest.approx(warm.steps + 40.0 / 0.1) and cold.cold


def test_epochs_break_even_in_epochs() -> None:
    """b's first epoch takes 40 s more, each later one 4 s less."""
    training = Training("patterns", "digest", 512, 0, 4)
    of = race(1.0, 1.0, first=(1.0, 1.0), launches=2)
    of = replace(of, case=replace(of.case, task="epoch", training=training), blocks=(), epochs=tuple(
        Epoch(launch, number, 0, name, later + (first if number == 1 else 0.0), 64, 1.0, 0.5)
        for launch in (1, 2) for number in (1, 2, 3, 4) for name, later, first in (("a", 10.0, 0.0), ("b", 6.0, 40.0))))
    found = of_b(of)
    assert found.ahead == "from" and found.steps == pytest.approx(10.0)
    assert break_evens(replace(of, case=replace(of.case, task="fit"))) == ()


def test_what_was_not_measured_has_no_line() -> None:
    assert jobs(replace(race(0.1, first=(5.0,)), phases=())) == ()
    assert jobs(replace(race(0.1, first=(5.0,)), warm_ups=())) == ()
    alone = of_b(race(0.2, 0.1, first=(0.2, 30.0), launches=1))
    assert alone.ahead == "from" and alone.low is None and alone.high is None


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
    low, high = fieller(fixed, step)
    assert low is not None and 0 < low < 30.0 / 0.005 and high is None
