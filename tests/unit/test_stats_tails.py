"""Quantiles and what may be claimed of them: against the binomial law, MLPerf's table, and by simulation."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from photofinish.stats import serving, tails
from photofinish.values import Block, Load
from stats_races import World


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
        held = [each.low <= value <= each.high for each in (tails.quantile(list(noise.exponential(size=150)), share)
                                                            for _ in range(800))]
        assert np.mean(held) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / 800)


def test_too_few_bound_no_tail() -> None:
    found = tails.quantile([3.0, 1.0, 2.0], 0.9)
    assert (found.value, found.low, found.high) == (3.0, 1.0, math.inf)
    assert tails.quantile([3.0, 1.0, 2.0], 0.5).low == 0.0
    assert tails.quantile([float(i) for i in range(1, 101)], 0.9).value == 90.0


def test_a_claim_is_met_missed_or_open() -> None:
    quick, slow = [0.01] * 458, [0.03]
    assert tails.claim(quick, 0.02, 0.99, 0.99) == tails.Claim(0.02, 0.99, 0.99, 458, 0, "UNDECIDED", 1)
    assert tails.claim([*quick, 0.01], 0.02, 0.99, 0.99).word == "MET"
    assert tails.claim(quick + slow, 0.02, 0.99, 0.99).more == 662 - 459
    assert tails.claim(quick + slow * 20, 0.02, 0.99, 0.99).word == "MISSED"


def test_a_false_claim_is_as_rare_as_it_says() -> None:
    """Latencies of which exactly the share claimed keep the bound: either word is wrong."""
    noise = np.random.default_rng(5)
    words = [tails.claim(list(noise.random(700)), 0.9, 0.9, 0.95).word for _ in range(2000)]
    for word in ("MET", "MISSED"):
        assert words.count(word) / len(words) < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize(("looks", "word"), [(1, "MET"), (5, "UNDECIDED")])
def test_looks_at_a_load_share_its_confidence(looks: int, word: str) -> None:
    """500 in time: 459 are enough for one look, and five take 619."""
    load = Load(clients=2, queries=500, latency=0.1, share=0.99, confidence=0.99, looks=looks)
    block = Block(1, 1, 0, "a", "serve", (0.05,) * 500, 1.0, 0, 0.0, 0.01, wall=25.0, service=(0.05,) * 500)
    race = World().race(np.random.default_rng(0), (1.0,), 0)
    (found,) = serving.served(replace(race, blocks=(block,), case=replace(race.case, task="serve", load=load)))
    assert found.claim is not None and found.claim.word == word
