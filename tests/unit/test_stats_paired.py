"""From blocks to ratios: what counts, what is paired, and what must not matter."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from photofinish import stats
from photofinish.render.document import Note
from photofinish.render.quantities import plain
from photofinish.reports import standings
from photofinish.stats import paired
from photofinish.values import Block, Race
from stats_races import World

OPPOSITE = {"FASTER": "SLOWER", "SLOWER": "FASTER"}


def race_of(steps: dict[tuple[str, int, int], tuple[float, ...]], **changes: object) -> Race:
    """A race from {(contender, launch, round): seconds}."""
    empty = World().race(np.random.default_rng(0), (1.0, 1.0), 0)
    blocks = tuple(Block(launch, turn, 0, name, "train", seconds, 0.1, 0, 0.0, 0.01)
                   for (name, launch, turn), seconds in steps.items())
    return replace(empty, blocks=blocks, **changes)


def test_ratio_is_seconds_of_b_over_seconds_of_a() -> None:
    race = race_of({("a", 1, 1): (1.0,), ("b", 1, 1): (2.0,), ("a", 2, 1): (3.0,), ("b", 2, 1): (6.0,)})
    estimate = paired.estimate_ratio(race, "a", "b")
    assert estimate is not None
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx((2.0, 2.0, 2.0))


def test_interval_is_students_over_launches() -> None:
    logs = np.array([0.01, 0.03, -0.02, 0.02])
    estimate = paired.interval(logs)
    reach = 3.182446305 * logs.std(ddof=1) / 2  # t of 3 degrees at 97.5 %, from a table
    assert math.log(estimate.high) == pytest.approx(logs.mean() + reach, rel=1e-6)
    assert math.log(estimate.low) == pytest.approx(logs.mean() - reach, rel=1e-6)


def test_one_launch_gives_a_point_and_no_verdict() -> None:
    race = race_of({("a", 1, 1): (1.0,), ("b", 1, 1): (2.0,)})
    step = paired.estimate_step(race, "b")
    assert step is not None and step.level == 0.0 and step.low == step.high == pytest.approx(2.0)
    (verdict,) = stats.judge(race).verdicts
    assert (verdict.verdict, verdict.low, verdict.high) == ("UNDECIDED", None, None)
    assert verdict.ratio == pytest.approx(2.0) and "one launch" in verdict.reason


def test_a_repeated_block_is_superseded() -> None:
    race = race_of({("a", 1, 1): (1.0,), ("b", 1, 1): (1.0,)})
    disturbed = replace(race.blocks[0], seconds=(9.0,), repeated=True)
    assert paired.estimate_ratio(replace(race, blocks=(disturbed, *race.blocks)), "a", "b") == \
        paired.estimate_ratio(race, "a", "b")


def test_only_rounds_and_launches_with_both_are_paired_and_only_of_this_task() -> None:
    race = race_of({("a", 1, 1): (1.0,), ("b", 1, 1): (2.0,), ("a", 1, 2): (50.0,), ("b", 2, 1): (50.0,)})
    other = replace(race.blocks[0], task="infer", seconds=(70.0,))
    race = replace(race, blocks=(*race.blocks, other))
    assert paired.launch_differences(paired.log_steps(race), "a", "b") == pytest.approx([math.log(2)])
    assert paired.estimate_ratio(race_of({("a", 1, 1): (1.0,)}), "a", "b") is None


def test_spikes_within_blocks_and_bad_rounds_do_not_move_the_ratio() -> None:
    clean = {(name, 1, turn): (1.0, 1.0, 1.0) for name in "ab" for turn in range(10)}
    spiked = {**clean, ("a", 1, 3): (1.0, 7.0, 1.0), ("b", 1, 5): (4.0, 4.0, 4.0), ("a", 1, 6): (3.0, 3.0, 3.0)}
    estimate = paired.estimate_ratio(race_of(spiked), "a", "b")
    assert estimate is not None and estimate.value == pytest.approx(1.0)


@pytest.mark.parametrize("rounds", [3, 4, 5])
def test_one_disturbed_block_does_not_ruin_a_launch_of_few_rounds(rounds: int) -> None:
    steps = {(name, 1, turn): (1.0,) for name in "ab" for turn in range(rounds)}
    estimate = paired.estimate_ratio(race_of({**steps, ("b", 1, 1): (3.0,)}), "a", "b")
    assert estimate is not None and estimate.value == pytest.approx(1.0)


def test_who_never_met_is_compared_through_the_anchor_and_drift_between_groups_drops_out() -> None:
    exact = World(launch=0.0, round=0.0, step=0.0)
    groups = [((0, 1), (0, 2)), ((0, 1, 2),)]
    race = exact.grouped(np.random.default_rng(0), (1.0, 1.1, 1.32), groups, shift=0.5)
    found = {(each.a, each.b): each for each in stats.judge(race).verdicts}
    assert found["b", "c"].ratio == pytest.approx(1.2) and found["a", "c"].ratio == pytest.approx(1.32)
    assert "through the anchor in 1 of 2 launches" in found["b", "c"].reason
    assert "anchor" not in found["a", "c"].reason  # the anchor itself met everybody


def test_without_an_anchor_a_launch_compares_nobody_of_different_groups() -> None:
    race = World().grouped(np.random.default_rng(0), (1.0, 1.1, 1.3), [((0, 1), (2,))] * 3)
    assert paired.estimate_ratio(race, "a", "c") is None and paired.estimate_ratio(race, "a", "b") is not None
    assert [each.verdict for each in stats.judge(race).verdicts if "c" in (each.a, each.b)] == ["UNDECIDED"] * 2


def test_where_everybody_was_alone_they_are_compared_launch_by_launch() -> None:
    """On a device whose memory holds one at a time."""
    race = World().grouped(np.random.default_rng(0), (1.0, 1.1, 1.3), [((0,), (1,), (2,)), ((2,), (1,), (0,))] * 3)
    found = paired.estimate_ratio(race, "a", "c")
    assert found is not None and found.low < 1.3 < found.high
    assert [len(rounds) for rounds in paired.round_differences(paired.log_steps(race), "a", "c").values()] == [1] * 6
    on_gpu = replace(race, case=replace(race.case, device="cuda"))
    told = [plain(each.text) for each in standings.section(stats.judge(on_gpu)).blocks if isinstance(each, Note)]
    assert told and "each alone, and are compared launch by launch" in told[0]


def test_an_interval_beyond_all_numbers_is_one_still() -> None:
    estimate = paired.interval(np.array([0.0, 5.0]), 1 - 1e-6)
    assert 0 < estimate.low < estimate.value < estimate.high < math.inf


worlds = st.builds(World, launch=st.floats(0.001, 0.1), round=st.floats(0, 0.1), step=st.floats(0, 0.1),
                   drift=st.floats(-0.01, 0.01), rounds=st.integers(1, 7), steps=st.integers(1, 3))
times = st.lists(st.floats(0.001, 10.0), min_size=2, max_size=4)


@given(worlds, times, st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_swapping_inverts_the_ratio_and_flips_the_verdict(world: World, seconds: list[float], launches: int,
                                                          seed: int) -> None:
    race = world.race(np.random.default_rng(seed), seconds, launches)
    there = {(each.a, each.b): each for each in stats.judge(race).verdicts}
    for back in stats.judge(replace(race, contenders=race.contenders[::-1])).verdicts:
        forth = there[back.b, back.a]
        assert back.verdict == OPPOSITE.get(forth.verdict, forth.verdict)
        assert (back.ratio, back.low, back.high) == pytest.approx((1 / forth.ratio, 1 / forth.high, 1 / forth.low))


@given(worlds, times, st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from([2.0**-10, 0.5, 2.0, 1024.0]))
def test_scaling_all_times_changes_no_verdict(world: World, seconds: list[float], launches: int, seed: int,
                                              factor: float) -> None:
    race = world.race(np.random.default_rng(seed), seconds, launches)
    scaled = replace(race, blocks=tuple(replace(each, seconds=tuple(factor * step for step in each.seconds))
                                        for each in race.blocks))
    for before, after in zip(stats.judge(race).verdicts, stats.judge(scaled).verdicts):
        assert after.verdict == before.verdict
        assert after.ratio == pytest.approx(before.ratio)
    for before, after in zip(stats.judge(race).standings, stats.judge(scaled).standings):
        assert (after.contender, after.place, after.tie_group) == (before.contender, before.place, before.tie_group)
        assert after.time.value == pytest.approx(factor * before.time.value)


@given(worlds, times, st.integers(1, 5), st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
def test_the_order_of_blocks_is_irrelevant(world: World, seconds: list[float], launches: int, seed: int,
                                           random) -> None:
    race = world.race(np.random.default_rng(seed), seconds, launches)
    shuffled = list(race.blocks)
    random.shuffle(shuffled)
    before, after = stats.judge(race), stats.judge(replace(race, blocks=tuple(shuffled)))
    assert after.verdicts == before.verdicts
    assert [each.contender for each in after.standings] == [each.contender for each in before.standings]


