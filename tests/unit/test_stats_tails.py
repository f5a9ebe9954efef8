"""Quantiles and what may be claimed of them: against the binomial law, MLPerf's table, and by simulation."""

import math
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

from photofinish.stats import serving, tails
from photofinish.values import Block, Load
from stats_races import World

WRONG = 0.05  # as a claim of 95 % may be
DRAWS = 200


@pytest.mark.parametrize(("share", "over", "count"), [
    (0.9, 0, 44), (0.9, 1, 64), (0.9, 10, 197), (0.99, 0, 459), (0.99, 1, 662)])
def test_as_many_are_needed_as_mlperf_says(share: float, over: int, count: int) -> None:
    assert tails.needed(share, over, 0.99) == count


@pytest.mark.parametrize(("share", "over", "confidence"), [(0.5, 0, 0.95), (0.9, 2, 0.95), (0.99, 3, 0.998)])
def test_no_fewer_would_do(share: float, over: int, confidence: float) -> None:
    """In exact arithmetic."""
    late = 1 - Fraction(share)
    def chance(count: int) -> Fraction:
        return sum((math.comb(count, i) * late**i * (1 - late) ** (count - i) for i in range(over + 1)), Fraction())
    count = tails.needed(share, over, confidence)
    assert chance(count) <= 1 - Fraction(confidence) < chance(count - 1)


def test_the_interval_of_a_quantile_holds_it_as_often_as_it_says() -> None:
    noise = np.random.default_rng(3)
    truth = {0.5: math.log(2), 0.9: math.log(10), 0.99: math.log(100)}
    for share, value in truth.items():
        found = (tails.quantile(noise.exponential(size=(3, 50)).tolist(), share) for _ in range(DRAWS))
        held = [each.low <= value <= each.high for each in found]
        assert np.mean(held) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / DRAWS)


def test_too_few_bound_no_tail() -> None:
    found = tails.quantile([[3.0, 1.0, 2.0]], 0.9)
    assert (found.value, found.low, found.high, found.level) == (3.0, 1.0, math.inf, 0.0)
    assert tails.quantile([[3.0, 1.0], [2.0]], 0.5).low == 0.0
    assert tails.quantile([[float(i) for i in range(1, 101)]], 0.9).value == 90.0


def test_a_claim_is_met_missed_or_open() -> None:
    quick, slow = [0.01] * 229, [0.01] * 219 + [0.03] * 10
    assert tails.claim([quick, quick[1:]], 0.02, 0.99, 0.99) == tails.Claim(0.02, 0.99, 0.99, 457, 0, "UNDECIDED", 2)
    assert tails.claim([[*quick, 0.01], quick], 0.02, 0.99, 0.99).word == "MET"
    assert tails.claim([quick, [*quick[1:], 0.03]], 0.02, 0.99, 0.99).more == 662 - 458
    assert tails.claim([slow, slow], 0.02, 0.99, 0.99).word == "MISSED"


def test_who_was_late_often_enough_lacks_a_launch_and_no_steps() -> None:
    alone = tails.claim([[0.03] * 40], 0.02, 0.99, 0.99)
    assert (alone.word, alone.more) == ("UNDECIDED", 0)
    assert tails.claim([[0.03] * 40] * 2, 0.02, 0.99, 0.99).word == "MISSED"


def test_one_launch_says_nothing_of_others() -> None:
    for latency in (0.01, 0.03):
        found = tails.claim([[latency] * 900], 0.02, 0.99, 0.99)
        assert found.word == "UNDECIDED"


def test_launches_that_differ_too_much_decide_nothing() -> None:
    """All that was seen is in time, and a third launch would hardly be."""
    even, uneven = ([[speed] * 300 for speed in speeds] for speeds in ((0.0100, 0.0101), (0.005, 0.019)))
    assert tails.claim(even, 0.02, 0.99, 0.95).word == "MET"
    found = tails.claim(uneven, 0.02, 0.99, 0.95)
    assert (found.word, found.over, found.more) == ("UNDECIDED", 0, 0)


@pytest.mark.parametrize("between", [0.0, 0.01, 0.03, 0.1])
@pytest.mark.parametrize(("share", "launches"), [(0.9, 2), (0.9, 5), (0.99, 3), (0.99, 5)])
def test_a_false_claim_is_as_rare_as_it_says(between: float, share: float, launches: int) -> None:
    """Latencies of which exactly the share claimed keep the bound, of processes with speeds of their own: either word
    is wrong."""
    noise = np.random.default_rng(5)
    bound = math.exp(NormalDist(0, math.hypot(between, 0.02)).inv_cdf(share))
    words = [tails.claim(_latencies(noise, between, launches), bound, share, 1 - WRONG).word for _ in range(DRAWS)]
    for word in ("MET", "MISSED"):
        assert words.count(word) / DRAWS < WRONG + 3 * math.sqrt(WRONG * (1 - WRONG) / DRAWS)


@pytest.mark.parametrize("between", [0.0, 0.01, 0.03])
@pytest.mark.parametrize(("share", "launches"), [(0.5, 3), (0.9, 5), (0.99, 5)])
def test_the_interval_of_a_quantile_is_that_of_all_launches(between: float, share: float, launches: int) -> None:
    noise = np.random.default_rng(7)
    value = math.exp(NormalDist(0, math.hypot(between, 0.02)).inv_cdf(share))
    held = [each.low <= value <= each.high for each in (
        tails.quantile(_latencies(noise, between, launches), share) for _ in range(DRAWS))]
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / DRAWS)


def test_a_claim_that_is_amply_true_is_met() -> None:
    """Five launches that differ by 1 % in speed, and a bound of a fifth more than the latencies."""
    noise = np.random.default_rng(9)
    words = [tails.claim(_latencies(noise, 0.01, 5), 1.2, 0.99, 0.95).word for _ in range(50)]
    assert set(words) == {"MET"}


def _latencies(noise: np.random.Generator, between: float, launches: int) -> list[list[float]]:
    """Of 200 steps each, log-normal: 2 % within a process, and so much between them."""
    speeds = noise.normal(0, between, (launches, 1))
    return np.exp(speeds + noise.normal(0, 0.02, (launches, 200))).tolist()


@pytest.mark.parametrize(("looks", "word"), [(1, "MET"), (5, "UNDECIDED")])
def test_looks_at_a_load_share_its_confidence(looks: int, word: str) -> None:
    """500 in time: 459 are enough for one look, and five take 619."""
    load = Load(clients=2, queries=500, latency=0.1, share=0.99, confidence=0.99, looks=looks)
    block = Block(1, 1, 0, "a", "serve", (0.05,) * 250, 1.0, 0, 0.0, 0.01, wall=25.0, service=(0.05,) * 250)
    race = World().race(np.random.default_rng(0), (1.0,), 0)
    case = replace(race.case, task="serve", load=load)
    (found,) = serving.served(replace(race, blocks=(block, replace(block, launch=2)), case=case))
    assert found.claim is not None and found.claim.word == word
