"""What `benchmarks.planted` plants, and when it counts a cause as found."""

import pytest
from benchmarks.planted import INSIDE, _agreement, plan

from photofinish.explain.causes import LAYER, PLACE, SETTING
from photofinish.values import Estimate
from photofinish.values.profile import COPIES, INPUT


def test_every_kind_of_cause_is_planted_in_torch_and_nothing_in_the_placebo() -> None:
    planted = list(plan("torch:eager", "Conv:32x8x8", "train"))
    assert [(each.kind, each.name) for each in planted] == [
        (SETTING, "layout"), (SETTING, "threads"), (SETTING, "allocator"), (PLACE, COPIES), (LAYER, ""), (PLACE, INPUT),
        ("", "")]
    *causes, placebo = planted
    assert placebo.one == placebo.other
    assert all(each.one != each.other for each in causes)


def test_what_a_framework_cannot_plant_is_left_out() -> None:
    assert {each.title for each in plan("jax:jit", "", "train")} == {
        "a thread less", "the default allocator", "a slow input pipeline", "placebo"}


@pytest.mark.parametrize(("size", "truth", "told"), [
    (Estimate(10, 9, 11), Estimate(10.5, 10.4, 10.6), INSIDE),
    (Estimate(10, 9, 11), Estimate(11.2, 10.2, 12.2), "the truth outside, NOT SHOWN TO BE APART"),
    (Estimate(10, 9, 11), Estimate(12, 11.9, 12.1), "the truth outside, APART")])
def test_a_size_must_hold_the_truth(size: Estimate, truth: Estimate, told: str) -> None:
    assert _agreement(size, truth) == told
