"""The search for the largest batch: what to try next, from what was tried."""

import numpy as np
import pytest

from photofinish.stats.largest import MOST_TRIALS, exact, largest, next_batch, smallest_beyond
from photofinish.values import Trial

MIB = 2**20


def search(base: float, slope: float, limit: float, noise: float = 0.0, told: bool = True, unseen: float = 0.0,
           seed: int = 1) -> list[Trial]:
    """A process holds `base` MiB and `slope` more per sample, of which it tells all but `unseen`."""
    scatter, trials = np.random.default_rng(seed), []
    while (batch := next_batch(trials, int(limit * MIB) if told else None)) is not None:
        held = base + slope * batch
        seen = int((held - unseen + scatter.normal(0, noise)) * MIB)
        trials.append(Trial(batch, held <= limit, seen if held <= limit else 0))
    return trials


@pytest.mark.parametrize("slope", [0.05, 1.0, 8.0, 90.0, 1000.0])
@pytest.mark.parametrize("told", [True, False])
def test_the_largest_is_found_in_twelve_trials_none_of_them_twice(slope: float, told: bool) -> None:
    trials = search(500.0, slope, 2048.0, noise=5.0, told=told, unseen=100.0)
    assert len(trials) <= MOST_TRIALS and len({each.batch for each in trials}) == len(trials)
    assert exact(trials) and smallest_beyond(trials) is not None
    assert 500.0 + slope * largest(trials) <= 2048.0 < 500.0 + slope * largest(trials) * 17 / 16 + slope


def test_memory_foretells_the_size() -> None:
    assert len(search(500.0, 8.0, 2048.0, noise=2.0)) <= 6 < len(search(500.0, 8.0, 2048.0, told=False))


def test_on_a_device_its_own_memory_foretells() -> None:
    """That of the process hardly grows there."""
    trials: list[Trial] = []
    while (batch := next_batch(trials, 2048 * MIB)) is not None:
        held = (500 + 8 * batch) * MIB
        trials.append(Trial(batch, held <= 2048 * MIB, 900 * MIB + batch, held))
    assert len(trials) <= 6 and largest(trials) == 192


def test_a_search_that_was_stopped_goes_on_as_it_would_have() -> None:
    trials = search(500.0, 8.0, 2048.0)
    for done, each in enumerate(trials):
        assert next_batch(trials[:done], 2048 * MIB) == each.batch
    assert next_batch(trials, 2048 * MIB) is None


@pytest.mark.parametrize("most", [20, 37, 1000])
def test_memory_that_foretells_nothing_does_not_lead_astray(most: int) -> None:
    trials: list[Trial] = []
    while (batch := next_batch(trials, 2048 * MIB)) is not None:
        trials.append(Trial(batch, batch <= most, 100 * MIB + batch))
    assert exact(trials)


def test_not_even_one_may_fit() -> None:
    trials = search(3000.0, 8.0, 2048.0)
    assert [each.batch for each in trials] == [2, 1] and largest(trials) == 0 and exact(trials)


def test_one_alone_may_fit() -> None:
    trials = search(0.0, 1500.0, 2048.0)
    assert [each.batch for each in trials] == [2, 1] and largest(trials) == 1 and exact(trials)


def test_what_twelve_trials_do_not_narrow_down_is_told() -> None:
    trials = search(0.0, 1 / 4096, 2048.0, told=False)
    assert len(trials) == MOST_TRIALS and not exact(trials) and largest(trials) > 0
