"""Strong and weak scaling, from races with known times."""

from dataclasses import replace

import pytest

from photofinish import scripts
from photofinish.reports import code_cost
from photofinish.stats import judge
from photofinish.stats.scaling import (
    forecasts,
    one_process,
    scalings,
    serial_share,
    to_race_beside,
    weak_scalings,
)
from photofinish.stats.verdict import ALPHA, SPENDING
from photofinish.values import Block, Case, Certificate, Contender, Estimate, Failure, Race

ONE, TWO = "torch:eager[threads=1]", "torch:eager+ddp[2,bucket=1,hook=fp16]"


def race(batch: int, one: float, two: float, launches: int = 3) -> Race:
    case = Case("m", "d", "train", batch, (1,), threads=2)
    blocks = tuple(Block(launch, 1, 0, name, "train", (seconds * (1 + launch / 100),), 0.1, 0, 0.0, 0.01)
                   for launch in range(1, launches + 1) for name, seconds in ((ONE, one), (TWO, two)))
    proofs = tuple(Certificate(name, "d", True, (), "numpy float64", 8) for name in (ONE, TWO))
    return Race(f"r{batch}", case, (ONE, TWO), blocks=blocks, certificates=proofs)


SMALL, LARGE = race(8, 1.0, 0.8), race(16, 1.9, 1.25)


def test_one_process_is_found_whatever_hook_the_several_have() -> None:
    assert one_process(SMALL, TWO) == ONE and one_process(SMALL, ONE) is None


@pytest.mark.parametrize("several", [
    "torch:eager+ddp[2,hook=localsgd,period=8]", "torch:eager+ddp[2,accumulate=2,bucket=5]",
    "torch:eager+horovod[2,HOROVOD_CYCLE_TIME=5]", "torch:eager+zero[2,GLOO_DEVICE_TRANSPORT=TCP]",
    "fake:steady+mean[2,sync=0.1]"])
def test_what_is_its_strategy_s_is_nothing_that_one_process_does(several: str) -> None:
    alone = several.partition("+")[0]
    two = replace(SMALL, contenders=(f"{alone}[threads=1]", several))
    assert one_process(two, several) == to_race_beside(two, several) == f"{alone}[threads=1]"


def test_what_each_process_computes_with_is_asked_of_the_one_too() -> None:
    two = replace(SMALL, contenders=(ONE, "torch:eager+zero[2,layout=channels_last]"))
    assert one_process(two, two.contenders[1]) is None
    assert to_race_beside(two, two.contenders[1]) == "torch:eager[layout=channels_last,threads=1]"


def test_strong_scaling_shares_the_batch() -> None:
    (found,) = scalings(LARGE)
    assert (found.batch, found.against_batch, found.launches) == (16, 16, 3)
    assert (found.speedup.value, found.efficiency.value) == pytest.approx((1.9 / 1.25, 1.9 / 1.25 / 2))


def test_intervals_are_at_the_level_that_looks_leave() -> None:
    looked = [replace(each, looks=(2,)) for each in (SMALL, LARGE)]
    assert [each.speedup.level for each in scalings(LARGE)] == [1 - ALPHA]
    assert [each.efficiency.level for each in scalings(looked[1])] == [1 - ALPHA * SPENDING[1]]
    assert {each.efficiency.level for each in weak_scalings([SMALL, looked[1]])} == {1 - ALPHA * SPENDING[1]}


def test_more_processes_follow_from_the_share_that_is_not_divided() -> None:
    (found,) = scalings(LARGE)
    seconds = lambda many: 0.6 + 1.3 / many  # noqa: E731 - 1.9 of one and 1.25 of two
    assert serial_share(found.speedup, 2).value == pytest.approx(0.6 / 1.9)
    assert [(each.processes, each.speedup.value) for each in forecasts(found)] == [
        (many, pytest.approx(1.9 / seconds(many))) for many in (4, 8, 16)]
    assert all(each.measured is None for each in forecasts(found))


@pytest.mark.parametrize(("speedup", "share", "of_four"), [(2.2, 0, 4), (2, 0, 4), (1, 1, 1), (0.8, 1.5, 8 / 11)])
def test_what_is_not_divided_is_none_at_best_and_may_be_more_than_all(speedup: float, share: float, of_four: float
                                                                        ) -> None:
    estimate = Estimate(speedup, speedup - 0.1, speedup + 0.1)
    found = serial_share(estimate, 2)
    assert found.value == pytest.approx(share) and found.low <= found.value <= found.high
    four = forecasts(replace(scalings(LARGE)[0], speedup=estimate))[0].speedup
    assert four.value == pytest.approx(of_four) and four.low <= four.value <= four.high


def test_what_more_processes_did_stands_beside_what_was_predicted() -> None:
    (two,) = scalings(LARGE)
    four = replace(two, contender=two.contender.replace("[2", "[4"), processes=4, speedup=Estimate(2.1, 2.0, 2.2))
    other = replace(four, contender="torch:eager+zero[4]")
    assert [(each.processes, each.measured) for each in forecasts(two, [two, four, other])] == [
        (4, four.speedup), (8, None), (16, None)]
    assert [each.processes for each in forecasts(four, [two, four])] == [8, 16, 32]


def test_weak_scaling_has_the_share_of_each_beside_it() -> None:
    (found,) = weak_scalings([LARGE, SMALL])  # nobody has 4 alone
    assert (found.contender, found.against, found.processes) == (TWO, ONE, 2)
    assert (found.batch, found.against_batch) == (16, 8)
    assert found.efficiency.value == pytest.approx(1.0 / 1.25)  # 16 samples in 1.25 s, beside twice 8 in 1 s
    assert found.speedup.value == pytest.approx(2 * found.efficiency.value)
    assert found.efficiency.low < found.efficiency.high or found.efficiency.low == pytest.approx(0.8)


def test_who_failed_or_is_not_proven_in_either_race_scales_in_none() -> None:
    assert weak_scalings([LARGE, replace(SMALL, failures=(Failure(ONE, "crash", "died"),))]) == ()
    assert weak_scalings([LARGE, replace(SMALL, certificates=())]) == ()
    assert len(weak_scalings([LARGE, SMALL, race(32, 4.0, 2.0)])) == 2


def test_what_several_cost_in_code_is_counted_for_models_of_the_zoo() -> None:
    pytest.importorskip("radon", reason="radon is not installed")
    case = replace(LARGE.case, model="digits_cnn", shape=(1, 8, 8), classes=10)
    (found,) = code_cost.costs(judge(replace(LARGE, case=case)))
    assert (found.contender, found.form, found.way) == (TWO, "torch", "ddp-fp16")
    assert 0 < found.changes.lines < found.alone.lines and found.changes.calls > 0
    assert "--as torch --parallel ddp-fp16" in str(code_cost.table((found,)))
    assert code_cost.costs(judge(LARGE)) == ()  # a model that the zoo has no longer
    assert code_cost.costs(judge(replace(LARGE, case=replace(case, model="./net.py:model")))) == ()


@pytest.mark.parametrize(("contender", "way"), [
    ("torch:eager+zero[2]", ("torch", "zero")), ("tensorflow:graph+multiworker[2]", ("keras", "multiworker")),
    ("jax:jit+distributed[2]", ("flax", "distributed")), ("jax:jit+shard_map[2]", None), ("torch:eager", None)])
def test_the_program_of_a_contender_is_known_by_its_strategy(contender: str, way: tuple[str, str] | None) -> None:
    assert scripts.way_of(Contender.parse(contender)) == way
