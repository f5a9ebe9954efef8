"""The total time of a job, and from when on a slow starter has paid for itself."""

from dataclasses import replace

import numpy as np
import pytest

from photofinish.stats import judge
from photofinish.stats.jobs import BreakEven, _break_even, break_evens, fieller, first_run, jobs, rivals, shorter
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


def uneven(launches: int = 4) -> Race:
    """Every tenth step of a takes 1.9 times as long as its others, 0.109 s in the mean; b steps in 0.104 s."""
    of = race(0.1, 0.104, first=(1.0, 1.0), launches=launches, world=replace(EXACT, steps=20))
    steps = tuple(0.19 if i % 10 == 4 else 0.1 for i in range(20))
    return replace(of, blocks=tuple(replace(each, seconds=steps) if each.contender == "a" else each
                                    for each in of.blocks))


def test_a_job_takes_its_slow_steps_too() -> None:
    a, b = jobs(uneven())
    preparation, warm_up = 1 + 2 + 1.0, 4 * 0.1
    assert a.seconds(100_000) == pytest.approx(preparation + warm_up + (100_000 - 3) * 0.109)
    assert (a.step.value, b.step.value) == (pytest.approx(0.109), pytest.approx(0.104))
    found = of_b(uneven())
    assert found.ahead == "from" and found.steps == pytest.approx((b.fixed - a.fixed) / 0.005)
    assert first_run(uneven(), 100_000)["a"][1] == pytest.approx(a.seconds(100_000))


def test_a_block_that_was_repeated_is_no_part_of_the_mean() -> None:
    of = uneven()
    disturbed = replace(of.blocks[0], seconds=(9.0,) * 20, repeated=True)
    assert jobs(replace(of, blocks=(disturbed, *of.blocks))) == jobs(of)


def test_the_means_say_whose_steps_are_shorter_where_the_medians_say_the_opposite() -> None:
    assert shorter(uneven()) == {("b", "a")}
    assert [(each.a, each.verdict) for each in judge(uneven()).verdicts] == [("a", "FASTER")]
    assert shorter(uneven(launches=1)) == set()


def test_steps_of_one_length_are_seldom_called_shorter() -> None:
    trials = 300
    wrong = sum(bool(shorter(race(0.1, 0.1, 0.1, first=(1.0,) * 3, world=World(), seed=seed)))
                for seed in range(trials))
    assert wrong <= most_by_chance(trials, 0.05)


def test_a_later_epoch_counts_as_long_as_it_took() -> None:
    """Of five later epochs one takes 10 s more, which a trimmed mean passes over."""
    of = race(1.0, first=(1.0,), launches=2)
    of = replace(of, case=replace(of.case, task="epoch", training=Training("patterns", "digest", 512, 0, 6)), blocks=(),
                 epochs=tuple(Epoch(launch, number, 0, "a", 16.0 if number == 4 else 6.0, 64, 1.0, 0.5)
                              for launch in (1, 2) for number in range(1, 7)))
    (job,) = jobs(of)
    assert job.step.value == pytest.approx((4 * 6 + 16) / 5)


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
    assert sooner == BreakEven("a", "b", False, "always") and later == BreakEven("b", "a", False, "never")


def test_never_tells_from_when_on_it_is_not_ruled_out() -> None:
    noise = World(launch=0.05, round=0.0, step=0.0)
    found = of_b(race(0.1, 0.1005, first=(0.1, 30.0), world=noise, seed=2))
    assert found.ahead == "never" and found.low is not None and found.low > 0


FIXED, STEP = np.array([1.5, -1.2, 0.9, -0.8, 0.6, -0.4]), 1e-3 + 1e-5 * np.array([1, -1, 1, -1, 1, -1])


def test_a_lead_by_two_means_is_bounded_where_the_start_is_not_shown_to_differ() -> None:
    """The steps surely differ by 1 ms, the starts by 0.1 s of several: up to 1,021 steps either may be ahead."""
    low, high = fieller(FIXED, STEP)
    assert low == 0.0 and high == pytest.approx(1021.6, rel=1e-4)
    assert _break_even("a", "b", False, FIXED, STEP) == BreakEven("a", "b", False, "never", None, low, high)
    assert _break_even("b", "a", False, -FIXED, -STEP) == BreakEven("b", "a", False, "always", None, low, high)
    sure = FIXED / 100 + 1
    assert _break_even("a", "b", False, sure, STEP) == BreakEven("a", "b", False, "never")
    assert _break_even("b", "a", False, -sure, -STEP) == BreakEven("b", "a", False, "always")


def test_a_lead_may_end_where_the_steps_are_not_shown_to_differ() -> None:
    sure, unsure = FIXED / 100 + 1, FIXED / 1000
    never, always = _break_even("a", "b", False, sure, unsure), _break_even("b", "a", False, -sure, -unsure)
    assert (never.ahead, always.ahead) == ("never", "always")
    assert never.low == always.low is not None and never.low > 0 and never.high is always.high is None


@pytest.mark.parametrize(("ahead", "start", "step"), [("from", 0.05, -0.005), ("until", -0.05, 0.005)])
def test_what_is_told_of_a_lead_seldom_excludes_the_truth(ahead: str, start: float, step: float) -> None:
    """In truth it changes at 10 steps, which the scatter of the starts hides: "always" and "never" leave that open."""
    noise, trials, wrong = np.random.default_rng(4), 1500, 0
    for _ in range(trials):
        found = _break_even("a", "b", False, noise.normal(start, 0.3, 6), noise.normal(step, 0.0005, 6))
        low, high = found.low or 0.0, np.inf if found.high is None and found.low is not None else found.high or 0.0
        wrong += not low <= 10.0 <= high
    assert wrong <= most_by_chance(trials, 0.05)


def test_who_is_ready_first_is_shown_by_the_launches() -> None:
    of = race(0.1, 0.1, 0.1, first=(1.0, 1.0, 9.0), world=World(), seed=3)
    noise = np.random.default_rng(3)
    of = replace(of, phases=tuple(replace(each, seconds=each.seconds * float(np.exp(noise.normal(0, 0.05))))
                                  for each in of.phases))
    assert rivals(of, "a") == ("b",) and rivals(of, "b") == ("a",) and rivals(of, "c") == ("a", "b")
    assert rivals(race(0.1, 0.1, first=(1.0, 2.0)), "a") == ()
    assert rivals(race(0.1, 0.1, first=(1.0, 2.0), launches=1), "a") == ("b",)
    cold = Phase(0, "a", "first_step:train", 12.0, cache="cold")
    of = race(0.1, 0.1, first=(1.0, 2.0))
    assert rivals(replace(of, phases=(*of.phases, cold)), "b") == ()


def test_who_is_ready_first_may_warm_up_the_longest() -> None:
    of = race(0.1, 0.1, first=(1.0, 2.0))
    long = tuple(replace(each, seconds=(*(0.5,) * 40, 0.1, 0.1), steps=40) if each.contender == "a" else each
                 for each in of.warm_ups)
    assert rivals(replace(of, warm_ups=long), "a") == () and rivals(replace(of, warm_ups=long), "b") == ("a",)


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
