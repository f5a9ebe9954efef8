"""Planning: pilot, look, planned end, budget."""

from dataclasses import replace

import numpy as np
import pytest

from photofinish import stats
from photofinish.stats import plan, student
from photofinish.stats.stragglers import stragglers
from photofinish.values import Failure, Race
from stats_races import World

CLOSE = (0.05, 0.0505)


def race(launches: int, seconds: tuple[float, ...] = CLOSE, world: World = World(launch=0.02), seed: int = 1) -> Race:  # noqa: B008
    return world.race(np.random.default_rng(seed), seconds, launches)


def test_the_pilot_fits_into_its_share_of_the_budget() -> None:
    poor, rich = plan.pilot(4, 2, 60.0), plan.pilot(4, 2, 6000.0)
    assert (poor.launches, rich.launches) == (plan.PILOT, plan.PILOT)
    assert poor.rounds == plan.FEWEST_ROUNDS < rich.rounds
    assert plan.pilot(2, 1, 500.0, steps=(2.0, 2.0)).rounds < plan.pilot(2, 1, 500.0, steps=(0.01, 0.01)).rounds
    assert plan.pilot(2, 1, 300.0).seconds <= 300.0 / 4


@pytest.mark.parametrize(("step", "steps"), [(1e-9, plan.MOST_STEPS), (0.01, 40), (0.3, 2), (0.4, 1), (7.0, 1)])
def test_a_block_is_filled_with_steps(step: float, steps: int) -> None:
    assert plan.block_steps(step) == steps


@pytest.mark.parametrize(("done", "budget", "more"), [(1, 1000.0, 3), (2, 1000.0, 2), (2, 15.0, 1), (2, 9.0, 0),
                                                      (3, -5.0, 0)])
def test_the_pilot_is_completed_as_far_as_the_budget_goes(done: int, budget: float, more: int) -> None:
    coming = plan.after(race(done), budget, 0.01)
    assert (coming.launches, coming.looks) == (more, ())


def test_an_end_forced_by_the_budget_costs_no_look() -> None:
    assert plan.after(race(plan.PILOT), 9.0, 0.01).looks == ()
    assert plan.after(race(plan.PILOT), 90.0, 0.01).looks == (plan.PILOT,)


def test_a_clear_race_stops_at_the_look() -> None:
    coming = plan.after(race(plan.PILOT, (0.05, 0.10)), 1000.0, 0.001)
    assert coming.launches == 0 and "decided" in coming.reason


def test_a_close_race_goes_on_to_its_planned_end_and_no_further() -> None:
    noise, world = np.random.default_rng(1), World(launch=0.02)
    seen = world.race(noise, CLOSE, plan.PILOT)
    coming = plan.after(seen, 1e6, 0.01)
    assert coming.launches + plan.PILOT >= plan.LEAST_TOTAL and (coming.launches + plan.PILOT) % 2 == 0
    whole = world.more(replace(seen, looks=coming.looks), noise, CLOSE, coming.launches)
    end = plan.after(whole, 1e6, 0.01)
    assert (end.launches, end.looks) == (0, coming.looks) and "planned end" in end.reason


def test_a_killed_race_resumes_its_plan() -> None:
    noise, world = np.random.default_rng(1), World(launch=0.02)
    seen = world.race(noise, CLOSE, plan.PILOT)
    coming = plan.after(seen, 1e6, 0.01)
    killed = world.more(replace(seen, looks=coming.looks), noise, CLOSE, 3)
    assert plan.after(killed, 1e6, 0.01).launches == coming.launches - 3


def test_the_budget_caps_the_plan_and_the_reason_says_so() -> None:
    coming = plan.after(race(plan.PILOT), 55.0, 0.0005)
    assert 0 < coming.seconds <= 55.0
    assert "the budget allows" in coming.reason


@pytest.mark.parametrize(("budget", "more"), [(10.0, 1), (20.0, 2), (30.0, 2)])
def test_rounds_leave_room_for_the_fewest_launches(budget: float, more: int) -> None:
    """Launches that hardly differ ask for 40 rounds, of which none may fit where several of the pilot's size do."""
    seen = race(plan.PILOT, (0.1, 0.101), World(launch=0.0, round=0.02, step=0.001), seed=0)
    coming = plan.after(seen, budget, 0.01)
    assert coming.launches >= more and coming.seconds <= budget
    assert plan.after(seen, 1e6, 0.01).rounds == plan.MOST_ROUNDS


def test_a_finer_precision_and_more_noise_need_more_launches() -> None:
    asked = [plan.after(race(plan.PILOT), 1e9, precision).launches for precision in (0.02, 0.01, 0.005)]
    assert asked == sorted(asked) and asked[0] < asked[-1]
    noisy = plan.after(race(plan.PILOT, world=World(launch=0.06)), 1e9, 0.02).launches
    assert noisy > asked[0]


def test_rounds_follow_kalibera_and_jones() -> None:
    spread = plan.Spread(within=4e-4, between=1.2e-4, observed=2e-4, rounds=5)
    assert plan.optimal_rounds(spread, 25.0, 1.0) == 10  # sqrt(25 / 1 x 3.33)
    assert plan.optimal_rounds(replace(spread, between=0.0), 25.0, 1.0) == plan.MOST_ROUNDS
    assert plan.optimal_rounds(replace(spread, within=0.0), 25.0, 1.0) == plan.FEWEST_ROUNDS
    assert spread.of_launch(5) == pytest.approx(2e-4**0.5)
    assert spread.of_launch(10) == pytest.approx(1.6e-4**0.5)
    assert spread.of_launch(3) == pytest.approx((1.2e-4 + 4e-4 * 0.4487) ** 0.5, rel=1e-3)  # the median's variance


def apart(seen: Race) -> Race:
    """The same, of a contender and a strategy, whose processes are never alive beside others."""
    names = {"a": "torch:eager", "b": "torch:eager+ddp[2]"}
    return replace(seen, contenders=tuple(names.values()), certificates=tuple(
        replace(each, contender=names[each.contender]) for each in seen.certificates), blocks=tuple(
        replace(each, contender=names[each.contender], group=int(each.contender == "b")) for each in seen.blocks))


def test_launches_compared_as_one_scatter_by_the_rounds_of_both() -> None:
    """Without them no round would seem worth its time, and launches to come would scatter more than those seen."""
    world = World(launch=0.005, round=0.03, step=0.0, rounds=15, steps=1)
    seen = apart(race(60, (1.0, 1.0), world))
    a, b = seen.contenders
    spread = plan.measure_spread(seen, [(a, b)])
    assert spread.rounds == 15 and spread.within == pytest.approx(2 * 0.03**2, rel=0.2)
    coming = plan.after(apart(race(plan.PILOT, world=world)), 1e6, 0.015)
    assert coming.rounds > plan.FEWEST_ROUNDS


def test_launches_needed_is_the_smallest_number_that_will_do() -> None:
    for spread, reach in ((0.01, 0.01), (0.02, 0.01), (0.05, 0.01), (0.01, 0.1)):
        found = student.launches_needed(spread, reach, 0.025)
        enough = [count for count in (found - 1, found)
                  if count > 1 and student.quantile(0.975, count - 1) * spread / count**0.5 <= reach]
        assert enough == [found]


def test_pairs_that_cannot_be_compared_ask_for_nothing() -> None:
    coming = plan.after(replace(race(plan.PILOT), certificates=()), 1e6, 0.01)
    assert coming.launches == 0
    assert plan.after(replace(race(plan.PILOT), blocks=()), 1e6, 0.01).launches == 0


def test_the_verdict_after_the_look_is_the_one_the_plan_saw() -> None:
    seen = race(plan.PILOT, (0.05, 0.053))
    coming = plan.after(seen, 1e6, 0.01)
    decided = stats.judge(replace(seen, looks=coming.looks)).verdicts[0].verdict != "UNDECIDED"
    assert decided == (coming.launches == 0)


def test_the_pilot_has_as_many_launches_as_the_budget_pays_for() -> None:
    steps = (0.1,) * 10
    assert [plan.pilot(10, 1, budget, steps, preparation=50.0).launches for budget in (1000.0, 210.0, 60.0, -5.0)] == [
        plan.PILOT, 3, plan.FEWEST, plan.FEWEST]
    assert "of a budget that has 210 s left" in plan.pilot(10, 1, 210.0, steps, preparation=50.0).reason
    poor = plan.pilot(10, 1, 60.0, steps, preparation=50.0)
    assert f"overrun by about {poor.seconds - 60.0:.3g} s" in poor.reason
    assert "overrun" not in plan.pilot(10, 1, 210.0, steps, preparation=50.0).reason
    assert plan.pilot(10, 1, 1000.0, steps, preparation=50.0).seconds > plan.PILOT * 50.0


def test_stragglers_are_those_ten_times_slower_than_the_leader() -> None:
    (found,) = stragglers(race(plan.PILOT, (0.05, 0.45, 0.6)))
    assert (found.contender, found.leader, found.launches) == ("c", "a", plan.PILOT)
    assert found.ratio == pytest.approx(12, rel=0.1)
    failed = replace(race(plan.PILOT, (0.05, 0.45, 0.6)), failures=(Failure("a", "crash", "x"),))
    assert stragglers(failed) == () and stragglers(replace(failed, blocks=())) == ()


def test_a_straggler_asks_for_no_more_launches_and_costs_none() -> None:
    seen = race(plan.PILOT, (0.05, 0.0505, 0.6, 0.6))
    left = replace(seen, stragglers=stragglers(seen))
    assert [each.contender for each in left.stragglers] == ["c", "d"]
    assert plan.after(left, 100.0, 0.0001).launches > plan.after(seen, 100.0, 0.0001).launches
    alone = race(plan.PILOT, (0.05, 0.6, 0.6))
    assert plan.after(alone, 1e6, 0.001).launches > 0
    assert plan.after(replace(alone, stragglers=stragglers(alone)), 1e6, 0.001).launches == 0
