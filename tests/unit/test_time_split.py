"""Computing, waiting and sending, told from traces made by hand."""

import pytest

from photofinish.frameworks._ranks.intervals import length, outside, union
from photofinish.stats.time_split import time_splits
from photofinish.values import Case, Race, TimeSplit, Trace, TracedStep

NAME = "fake:steady+mean[2]"
CASE = Case("m", "d", "train", 8, (1,), threads=2)


def traced(*ranks: TracedStep) -> tuple[TimeSplit, ...]:
    return time_splits(Race("r", CASE, (NAME,), traces=tuple(
        Trace(1, NAME, number, (step,)) for number, step in enumerate(ranks))))


def test_who_is_ready_first_waits_and_what_is_sent_beside_computing_is_overlap() -> None:
    early = TracedStep(0.0, 10.0, ((4.0, 7.0, 100), (8.0, 10.0, 20)), ((4.0, 7.0), (9.0, 10.0)))
    late = TracedStep(0.0, 10.0, ((6.0, 7.0, 100), (7.5, 10.0, 20)), ((6.0, 7.0), (9.5, 10.0)))
    first, second = traced(early, late)
    assert (first.computing, first.waiting, first.communicating, first.overlap, first.sent) == (6.0, 2.0, 5.0, 1.0, 120)
    assert (second.computing, second.waiting, second.communicating, second.overlap) == (8.5, 0.0, 3.5, 2.0)


def test_who_is_last_to_be_ready_is_told_and_by_how_much() -> None:
    slow = TracedStep(0.0, 10.0, ((6.0, 7.0, 1), (7.5, 9.0, 1), (9.5, 10.0, 1)), ())
    fast = TracedStep(0.0, 10.0, ((4.0, 7.0, 1), (8.0, 9.0, 1), (9.0, 10.0, 1)), ())
    first, second = traced(slow, fast)
    assert (first.behind, first.last) == pytest.approx(((2.0 + 0.0 + 0.5) / 3, 2 / 3))
    assert (second.behind, second.last) == pytest.approx((0.5 / 3, 1 / 3))
    (alone,) = traced(TracedStep(0.0, 1.0, (), ()))
    assert (alone.behind, alone.last) == (0.0, 0.0)


def test_a_wait_that_is_computed_through_is_none() -> None:
    early = TracedStep(0.0, 4.0, ((1.0, 4.0, 8),), ((3.5, 4.0),))
    late = TracedStep(0.0, 4.0, ((3.0, 4.0, 8),), ((3.0, 4.0),))
    assert [each.waiting for each in traced(early, late)] == [0.0, 0.0]


def test_stretches() -> None:
    joined = union([(3.0, 4.0), (0.0, 1.0), (0.5, 2.0)])
    assert joined == [(0.0, 2.0), (3.0, 4.0)] and length(joined) == 3.0
    assert outside(joined, [(0.5, 1.0), (1.5, 3.5)]) == [(0.0, 0.5), (1.0, 1.5), (3.5, 4.0)]
    assert outside(joined, []) == joined and outside(joined, [(-1.0, 9.0)]) == []


def test_one_process_has_none() -> None:
    assert traced() == () and pytest.approx(0.0) == length([])
