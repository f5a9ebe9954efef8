"""Knees, trends and bends of batch curves whose truth is known."""

import math

import numpy as np
import pytest

from photofinish.stats import batches
from stats_races import most_by_chance

SIZES = (1, 2, 4, 8, 16, 32)


def logs(fixed: float, noise: float = 0.0, launches: int = 6, seed: int = 0) -> batches.Logs:
    """Steps of `fixed` + batch seconds: the throughput is batch / (fixed + batch), which saturates."""
    draw = np.random.default_rng(seed)
    return {size: {launch: math.log(fixed + size) + noise * float(draw.standard_normal())
                   for launch in range(1, launches + 1)} for size in SIZES}


@pytest.mark.parametrize(("fixed", "knee"), [(0.05, 1), (0.5, 8), (1.0, 16), (3.0, None)])
def test_the_knee_is_where_the_arithmetic_puts_it(fixed: float, knee: int | None) -> None:
    assert batches.knee(logs(fixed)) == batches.Knee(knee, knee, knee, 6)
    found = batches.knee(logs(fixed, noise=0.001))
    assert found is not None and found.batch == knee


def test_noise_widens_its_range_and_the_truth_stays_inside() -> None:
    inside, width = 0, 0
    for seed in range(200):
        found = batches.knee(logs(1.0, noise=0.02, seed=seed))
        assert found is not None
        low, high = (64 if each is None else each for each in (found.low, found.high))
        inside += low <= 16 <= high
        width += low < high
    assert inside >= 0.9 * 200 and width > 100  # each end misses in 5 % at most


def test_the_true_knee_is_excluded_as_seldom_as_it_says() -> None:
    """Every larger batch gains almost what would make it count, and each might seem to."""
    excluded = 0
    for seed in range(300):
        draw = np.random.default_rng(seed)
        flat = {size: {launch: math.log(size) - math.log(1.0499) * (size > 1) + 0.01 * float(draw.standard_normal())
                       for launch in range(6)} for size in SIZES}
        found = batches.knee(flat)
        excluded += found is None or found.low != 1
    assert excluded <= most_by_chance(300, 0.05)


def test_a_knee_is_shown_where_there_is_none_as_seldom_as_it_says() -> None:
    """The largest batch alone gains what counts, over each of the others."""
    shown = 0
    for seed in range(300):
        draw = np.random.default_rng(seed)
        late = {size: {launch: math.log(size) - math.log(1.0501) * (size == SIZES[-1]) + 0.01 * float(
            draw.standard_normal()) for launch in range(6)} for size in SIZES}
        found = batches.knee(late)
        shown += found is None or found.high is not None
    assert shown <= most_by_chance(300, 0.05)


def test_one_launch_gives_no_range_and_one_batch_no_knee() -> None:
    assert batches.knee(logs(1.0, launches=1)) == batches.Knee(16, None, None, 1)
    assert batches.knee({8: {1: 0.0}}) is None


def test_a_rise_is_told_from_none() -> None:
    rising, flat = batches.trend(logs(3.0, noise=0.01)), batches.trend(logs(0.0, noise=0.01))
    assert rising is not None and flat is not None
    assert rising.chance < 1e-3 < flat.chance
    assert rising.doubling.low > 1 and flat.doubling.low < 1 < flat.doubling.high
    assert batches.trend({size: each for size, each in logs(3.0).items() if size < 4}) is None


def test_page_s_test_is_as_often_wrong_as_it_says() -> None:
    chances = [found.chance for seed in range(300) if (found := batches.trend(logs(0.0, noise=0.01, seed=seed)))]
    assert np.mean(np.array(chances) < 0.05) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_the_slope_of_launches_that_differ_is_covered_as_often_as_it_says() -> None:
    """Each launch has a slope of its own; its batches are not so many samples of the mean slope."""
    def sweep(seed: int) -> batches.Logs:
        slopes = np.random.default_rng(seed).normal(math.log(1.1), 0.05, 6)
        return {size: {launch: math.log(size) - slope * math.log2(size) for launch, slope in enumerate(slopes)}
                for size in SIZES}
    found = [trend.doubling for seed in range(400) if (trend := batches.trend(sweep(seed)))]
    covered = np.mean([each.low <= 1.1 <= each.high for each in found])
    assert abs(covered - 0.95) < 3 * math.sqrt(0.95 * 0.05 / len(found))


def test_the_change_of_gain_is_found_where_it_was_planted() -> None:
    """Doublings gain 60 % up to batch 8 and 2 % after it."""
    draw, gain = np.random.default_rng(1), {1: 1.0, 2: 1.6, 4: 1.6**2, 8: 1.6**3, 16: 1.6**3 * 1.02,
                                            32: 1.6**3 * 1.02**2}
    steps = {size: {launch: math.log(size / gain[size]) + 0.005 * float(draw.standard_normal())
                    for launch in range(1, 7)} for size in SIZES}
    found = batches.bend(steps)
    assert found is not None and found.batch == 8
    assert found.before == pytest.approx(1.6, rel=0.02) and found.after == pytest.approx(1.02, rel=0.02)


def test_no_change_is_seen_where_there_is_none() -> None:
    found = [batches.bend({size: {launch: 0.3 * math.log(size) + 0.01 * float(draw.standard_normal())
                                  for launch in range(1, 7)} for size in SIZES})
             for draw in map(np.random.default_rng, range(100))]
    assert sum(each is not None for each in found) <= 5
