"""Welch's test against scipy's t test (two groups) and by simulation (many)."""

import numpy as np
import pytest
from scipy import stats

from photofinish.stats.interaction import interaction
from photofinish.stats.verdict import ALPHA
from stats_races import most_by_chance


def test_of_two_races_it_is_welchs_t_test() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.normal(0, 1, 5), generator.normal(0.5, 3, 9)
    found = interaction([first, second])
    assert found is not None
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert found.statistic == pytest.approx(expected.statistic**2)
    assert found.chance == pytest.approx(expected.pvalue)


def test_it_is_wrong_as_often_as_it_says() -> None:
    generator = np.random.default_rng(2)
    spreads = np.array([0.01, 0.02, 0.05, 0.01, 0.03, 0.02])
    found = [interaction([generator.normal(0.2, spread, 6) for spread in spreads]) for _ in range(2000)]
    wrong = np.mean([each is not None and each.chance < 0.05 for each in found])
    assert 0.03 < wrong < 0.075


def test_few_launches_of_many_races_show_no_dependence_where_there_is_none() -> None:
    """2 launches of 24 races that scatter unequally: F errs in three of four cases, the word as it says."""
    generator, trials = np.random.default_rng(3), 40
    spreads = np.resize([0.01, 0.02, 0.05], 24)
    found = [interaction([generator.normal(0.2, spread, 2) for spread in spreads]) for _ in range(trials)]
    assert sum(each is not None and each.shown for each in found) <= most_by_chance(trials, ALPHA)
    assert sum(each is not None and each.chance < ALPHA for each in found) > trials / 2


def test_a_ratio_that_depends_on_the_race_is_shown() -> None:
    generator = np.random.default_rng(4)
    found = interaction([generator.normal(mean, 0.01, 4) for mean in (0.2, 0.2, 0.2, -0.1)])
    assert found is not None and found.shown


def test_one_race_or_one_launch_says_nothing() -> None:
    assert interaction([np.array([0.1, 0.2])]) is None
    assert interaction([np.array([0.1, 0.2]), np.array([0.1])]) is None
    assert interaction([np.array([0.1, 0.1]), np.array([0.3, 0.3])]) is None
