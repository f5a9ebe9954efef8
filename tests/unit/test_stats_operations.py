"""Operations against time: scipy's line, and each network left out in turn."""

import numpy as np
import pytest
from scipy import stats

from photofinish.stats.lines import CONFIDENCE
from photofinish.stats.operations import fit

MACS = np.array([0.3, 0.7, 1.5, 2.8, 4.1, 15.5]) * 1e9


def test_it_is_scipys_line_and_the_error_of_those_left_out() -> None:
    seconds = MACS**0.8 * np.exp(np.random.default_rng(1).normal(0, 0.3, len(MACS)))
    found = fit(MACS, seconds)
    assert found is not None
    x, y = np.log(MACS), np.log(seconds)
    line = stats.linregress(x, y)
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, len(x) - 2) * line.stderr
    assert found.exponent.value == pytest.approx(line.slope)
    assert (found.exponent.low, found.exponent.high) == pytest.approx((line.slope - reach, line.slope + reach))
    errors = []
    for i in range(len(x)):
        rest = stats.linregress(np.delete(x, i), np.delete(y, i))
        errors.append(y[i] - rest.intercept - rest.slope * x[i])
    assert found.factor == pytest.approx(np.exp(np.sqrt(np.mean(np.square(errors)))))
    assert found.rank == pytest.approx(stats.spearmanr(x, y).statistic) and found.networks == len(x)


def test_in_proportion_nothing_is_off() -> None:
    found = fit(MACS, MACS / 1e11)
    assert found is not None
    assert (found.exponent.value, found.factor, found.rank) == pytest.approx((1, 1, 1))


def test_few_networks_or_one_size_say_nothing() -> None:
    assert fit(MACS[:3], MACS[:3]) is None
    assert fit([1e9] * 6, MACS) is None
    assert fit([1e9] * 5 + [2e9], MACS) is None  # the slope is of one network, which nothing foretells without it
