"""Warm-up series: their class when read, and when to stop when running."""

import ast
import inspect
import subprocess
import sys

import numpy as np
import pytest

from photofinish.measure import warm
from photofinish.measure.warm import settled
from photofinish.stats.steady import steady
from stats_races import log_normal

NOISE = np.random.default_rng(1)


def flat(level: float, count: int, spread: float = 0.01) -> np.ndarray:
    return log_normal(NOISE, level, spread, count)


@pytest.mark.parametrize(("series", "kind", "low", "high"), [
    (flat(10, 6, 0.03), "flat", 0, 0),
    (flat(10, 200), "flat", 0, 0),
    (10 * np.exp(0.02 * NOISE.standard_t(2, 60)), "flat", 0, 0),
    (np.full(10, 1.0), "flat", 0, 0),
    (np.r_[flat(10, 10), 25, flat(10, 10)], "flat", 0, 0),
    (np.r_[30, 20, 14, flat(10, 9)], "warmup", 3, 3),
    (np.r_[20, flat(10, 9)], "warmup", 1, 2),
    (np.r_[20, flat(10, 3)], "warmup", 1, 1),
    (np.r_[flat(50, 8, 0.04), flat(12, 40, 0.02), flat(10, 150)], "warmup", 45, 51),
    (flat(10, 30) * (1 + np.exp(-np.arange(30) / 2)), "warmup", 4, 12),
    (np.r_[flat(10, 20), flat(11, 40)], "slowdown", 19, 21),
    (np.r_[flat(10, 60), flat(11, 10)], "no steady state", 70, 70),
    (flat(10, 2), "no steady state", 2, 2),
])
def test_classes(series: np.ndarray, kind: str, low: int, high: int) -> None:
    found, steps = steady(list(series))
    assert found == kind
    assert low <= steps <= high


def test_the_class_does_not_depend_on_the_unit() -> None:
    series = np.r_[30, 20, 14, flat(10, 9)]
    assert steady(series) == steady(series / 1024)


def stop(series: np.ndarray) -> int:
    """Steps run before the rule stopped; one more than there are if it never did."""
    return next((count for count in range(1, len(series) + 1) if settled(series[:count])), len(series) + 1)


@pytest.mark.parametrize(("noise", "most"), [(0.001, 3), (0.01, 12), (0.05, 24)])
def test_a_flat_series_is_soon_settled(noise: float, most: int) -> None:
    stops = [stop(flat(1.0, 60, noise)) for _ in range(50)]
    assert min(stops) >= warm.LEAST and np.percentile(stops, 90) <= most


@pytest.mark.parametrize("decay", [2, 5, 20])
def test_a_falling_series_is_not_settled_while_it_falls(decay: int) -> None:
    """Where the rule stops, the level left to fall is below 5 % in nine series of ten."""
    left = [np.exp(-stop(flat(1.0, 200, 0.02) * (1 + np.exp(-np.arange(200) / decay))) / decay) for _ in range(50)]
    assert np.percentile(left, 90) < 0.05


def test_a_slow_start_is_passed() -> None:
    assert stop(np.r_[3.0, 2.0, np.full(20, 1.0)]) == 5


def test_short_steps_are_given_a_moment() -> None:
    assert stop(np.full(100, 0.001)) == warm.MOST_SHORT
    assert stop(np.full(100, 0.05)) == 5
    assert stop(np.full(100, 0.5)) == warm.LEAST


def test_nothing_is_said_of_too_little() -> None:
    assert not settled([]) and not settled([1.0, 1.0])


def test_the_worker_needs_numpy_only() -> None:
    tree = ast.parse(inspect.getsource(warm))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert modules == {"typing", "numpy"}


def test_importing_the_room_loads_no_heavy_library() -> None:
    code = ("import sys, photofinish.stats, photofinish.stats.plan, photofinish.stats.jobs, photofinish.stats.steady;"
            "print([name for name in ('scipy', 'ruptures', 'pandas') if name in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
