"""Verdicts, places and tie groups, who may be compared, and advice."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_ind

from photofinish import stats
from photofinish.stats import advice, standings, student, verdict
from photofinish.values import Failure, Finding, Phase, Race, Result, Training, Verdict, WarmUp
from stats_races import World, least_by_chance

CALM = World(launch=0.001, round=0.005, step=0.005)


def race(*seconds: float, launches: int = 6, world: World = CALM, seed: int = 1, margin: float = 0.02) -> Race:
    return world.race(np.random.default_rng(seed), seconds, launches, margin)


def words(result: Result) -> dict[str, str]:
    return {each.a + each.b: each.verdict for each in result.verdicts}


def logs(mean: float, spread: float, count: int = 6) -> np.ndarray:
    """Differences with exactly this mean and standard deviation."""
    pattern = np.arange(count) - (count - 1) / 2
    return mean + spread * pattern / pattern.std(ddof=1)


# t(0.95, 5) = 2.0150, t(0.975, 5) = 2.5706; six launches of s.d. 0.01: half-widths 0.00823 and 0.01049
@pytest.mark.parametrize(("mean", "word"), [
    (0.0, "EQUIVALENT"), (0.0115, "EQUIVALENT"), (0.0117, "FASTER"), (0.03, "FASTER"), (-0.03, "SLOWER"),
    (-0.0115, "EQUIVALENT"), (-0.0117, "SLOWER")])
def test_words(mean: float, word: str) -> None:
    (decision,) = verdict.decide([logs(mean, 0.01)], 0.02)
    assert decision.word == word


@pytest.mark.parametrize(("mean", "word"), [(0.0, "UNDECIDED"), (0.0209, "UNDECIDED"), (0.0211, "FASTER")])
def test_words_where_the_noise_is_twice_that(mean: float, word: str) -> None:
    (decision,) = verdict.decide([logs(mean, 0.02)], 0.0165)
    assert decision.word == word


def test_a_clock_without_noise_decides() -> None:
    words_found = [verdict.decide([np.full(3, mean)], 0.02)[0].word for mean in (0.0, 0.05, -0.05)]
    assert words_found == ["EQUIVALENT", "FASTER", "SLOWER"]


def test_holm_steps_down_until_the_first_failure() -> None:
    assert verdict.holm([0.04, 0.001, 0.02, 0.9], 0.04) == pytest.approx([0.04 / 3, 0.01, 0.04 / 3, 0.04 / 3])
    assert verdict.holm([0.001, 0.01, 0.03], 0.05) == pytest.approx([0.05 / 3, 0.025, 0.05])
    assert verdict.holm([], 0.05) == []


@pytest.mark.parametrize("seed", range(5))
def test_every_interval_excludes_one_exactly_where_a_difference_is_claimed(seed: int) -> None:
    found = stats.judge(race(1.0, 1.01, 1.04, 1.05, seed=seed, margin=0.0, world=World())).verdicts
    for each in found:
        assert (each.low > 1 or each.high < 1) == (each.verdict in ("FASTER", "SLOWER"))


def test_a_look_before_the_end_widens_the_interval() -> None:
    base = race(1.0, 1.03, launches=6, world=World())
    at_look, at_end = replace(base, looks=(6,)), replace(base, looks=(4,))
    widths = [each.high - each.low for each in (stats.judge(of).verdicts[0] for of in (base, at_end, at_look))]
    assert widths[0] < widths[1] < widths[2]
    assert sum(verdict.SPENDING) <= 1


def test_seconds_to_decide_are_kept() -> None:
    """Racing for as long as was said decides in about the stated share of races."""
    noise = np.random.default_rng(5)
    decided = []
    for mean, spread in ((0.0, 0.03), (0.01, 0.03), (0.03, 0.05)):
        (decision,) = verdict.decide([logs(mean, spread)], 0.02)
        assert decision.word == "UNDECIDED"
        count = verdict.launches_to_decide(decision, 6, 0.02)
        again = [verdict.decide([noise.normal(mean, spread, count)], 0.02)[0].word for _ in range(200)]
        decided.append(len(again) - again.count("UNDECIDED"))
    assert min(decided) >= least_by_chance(200, verdict.POWER)


def test_seconds_to_decide_cost_launches() -> None:
    found = stats.judge(race(1.0, 1.005, launches=4, world=World(launch=0.03))).verdicts[0]
    assert found.verdict == "UNDECIDED" and found.seconds_to_decide % 10.0 == 0 and found.seconds_to_decide > 0
    assert stats.judge(race(1.0, 1.3)).verdicts[0].seconds_to_decide == 0.0
    untimed = replace(race(1.0, 1.005, launches=4, world=World(launch=0.03)), launches=())
    assert stats.judge(untimed).verdicts[0].seconds_to_decide is None


def test_places_and_tie_groups() -> None:
    result = stats.judge(race(1.10, 1.0, 1.101, 1.5))
    assert [(each.contender, each.place, each.tie_group) for each in result.standings] in (
        [("b", 1, 0), ("a", 2, 1), ("c", 2, 1), ("d", 4, 2)], [("b", 1, 0), ("c", 2, 1), ("a", 2, 1), ("d", 4, 2)])
    assert words(result) == {"ab": "SLOWER", "ac": "EQUIVALENT", "ad": "FASTER", "bc": "FASTER", "bd": "FASTER",
                             "cd": "FASTER"}


def test_standing_figures() -> None:
    of = race(0.1, 0.2)
    of = replace(of, phases=(Phase(1, "a", "import", 2.0, 10), Phase(2, "a", "import", 4.0, 30),
                             Phase(0, "a", "first_step:train", 9.0, 50, cache="cold"),
                             Phase(0, "a", "import", 99.0, 40)))
    first = stats.judge(of).standings[0]
    assert first.time.value == pytest.approx(0.1, rel=0.01)
    assert first.throughput.value == pytest.approx(of.case.batch / first.time.value)
    assert first.throughput.low < first.throughput.value < first.throughput.high
    assert first.phases == {"import": 3.0, "first_step:train (cold)": 9.0}
    assert first.memory == 50
    over_data = replace(of, case=replace(of.case, task="epoch", training=Training("digits", "digest", 32, 0, 3)))
    assert stats.judge(over_data).standings[0].memory == 30  # the rehearsal has no data set
    assert first.cpu_per_wall == pytest.approx(0.1 / 0.2, rel=0.02)  # 0.1 CPU seconds over two steps a block
    assert 0 < first.spread < 0.01


def test_without_a_certificate_nothing_is_compared() -> None:
    result = stats.judge(replace(race(1.0, 2.0), certificates=()))
    assert not result.comparable
    assert [each.verdict for each in result.verdicts] == ["NOT COMPARABLE"]
    assert "no certificate" in result.verdicts[0].reason
    assert [each.place for each in result.standings] == [None, None]


@pytest.mark.parametrize("change", [{"passed": False}, {"digest": "of another graph"}])
def test_a_bad_certificate_bars_its_pairs_and_leaves_no_winner(change: dict) -> None:
    of = race(1.0, 2.0, 3.0)
    of = replace(of, certificates=(replace(of.certificates[0], **change), *of.certificates[1:]))
    result = stats.judge(of)
    assert words(result) == {"ab": "NOT COMPARABLE", "ac": "NOT COMPARABLE", "bc": "FASTER"}
    assert not result.comparable
    assert all(each.place is None for each in result.standings)


def test_a_copy_is_covered_by_its_original() -> None:
    of = race(1.0, 1.0)
    blocks = tuple(replace(each, contender="a#2" if each.contender == "b" else "a") for each in of.blocks)
    result = stats.judge(replace(of, contenders=("a", "a#2"), blocks=blocks, certificates=of.certificates[:1]))
    assert result.comparable and result.verdicts[0].verdict == "EQUIVALENT"


def test_a_failed_contender_is_listed_without_a_place() -> None:
    of = replace(race(1.0, 2.0, 3.0), failures=(Failure("a", "out of memory", "killed", 3, "block:train"),))
    result = stats.judge(of)
    assert [(each.contender, each.place) for each in result.standings] == [("b", 1), ("c", 2), ("a", None)]
    assert result.standings[-1].failure.kind == "out of memory" and result.comparable
    assert words(result)["ab"] == "NOT COMPARABLE" and "out of memory" in result.verdicts[0].reason


def test_a_failure_in_another_task_is_not_of_this_race() -> None:
    of = replace(race(1.0, 2.0), failures=(Failure("a", "crash", "x", 1, "compile:infer"),))
    assert stats.judge(of).standings[0].failure is None


def test_the_last_one_standing_beside_a_wrong_answer_has_won_nothing() -> None:
    of = race(1.0, 2.0)
    of = replace(of, blocks=tuple(each for each in of.blocks if each.contender == "a"),
                 certificates=(of.certificates[0], replace(of.certificates[1], passed=False)),
                 failures=(Failure("b", "wrong answer", "gradient"),))
    result = stats.judge(of)
    assert not result.comparable and result.standings[0].place is None


def test_a_race_of_which_nothing_was_recorded() -> None:
    result = stats.judge(replace(race(1.0, 2.0), blocks=(), launches=()))
    assert [each.verdict for each in result.verdicts] == ["UNDECIDED"]
    assert all(each.time is None and each.place is None for each in result.standings)
    assert result.warnings == ()


def changed(of: Race, name: str, **values: object) -> Race:
    return replace(of, blocks=tuple(replace(each, **values) if each.contender == name else each for each in of.blocks))


def test_a_quiet_race_has_no_warnings() -> None:
    assert stats.judge(race(1.0, 1.1)).warnings == ()


@pytest.mark.parametrize(("of", "text"), [
    (race(1.0, 1.1, world=World(launch=0.08)), "from launch to launch"),
    (changed(race(1.0, 1.1), "b", foreign=0.3), "Other programs"),
    (changed(race(1.0, 1.1), "b", faults=1_000_000), "Page faults"),
    (changed(race(1.0, 1.1), "b", cpu=40.0), "cores busy"),
    (changed(race(1.0, 1.1), "b", seconds=(1.0, 1.0, 1.0, 2.0)), "slow steps"),
    (replace(race(1.0, 1.1), warm_ups=(WarmUp(1, "a", "train", (1.0,) * 5, "no steady state", 5),)), "had not settled"),
    (replace(race(1.0, 1.1), warm_ups=(WarmUp(1, "a", "train", (1.0,) * 5, "slowdown", 1),)), "became slower"),
    (replace(race(1.0, 1.1), audit=(Finding("a", "matmul", "TF32", "float32", "", "a ran TF32"),)), "a ran TF32"),
])
def test_what_is_odd_is_said(of: Race, text: str) -> None:
    found = stats.judge(of).warnings
    assert found and all(text in each for each in found)


def test_who_would_win_by_means_is_told_where_medians_name_another() -> None:
    """Every fourth step of a takes 1.36 times as long: 9 % in the mean, which slow_steps leaves unsaid."""
    exact = World(launch=0.0, round=0.0, step=0.0)
    of = changed(race(0.1, 0.104, world=exact), "a", seconds=(0.1, 0.1, 0.1, 0.136))
    (said,) = stats.judge(of).warnings
    assert said.startswith("a is faster than b by the verdict") and "its mean step is 4.8% longer" in said
    assert stats.judge(changed(of, "a", seconds=(0.1, 0.1, 0.1, 0.11))).warnings == ()  # 0.1025 s in the mean
    tied = changed(race(0.1, 0.101, world=exact), "a", seconds=(0.1, 0.1, 0.1, 0.136))
    assert stats.judge(tied).warnings == ()  # equivalent by medians: neither has won


def test_of_too_few_steps_nobody_says_that_they_had_not_settled() -> None:
    of = replace(race(1.0, 1.1), warm_ups=(WarmUp(1, "a", "train", (9.0,), "no steady state", 1),))
    assert stats.judge(of).warnings == ()


def test_who_has_threads_of_its_own_may_use_them() -> None:
    pair = changed(race(1.0, 1.1), "b", cpu=40.0)
    (standing,) = (each for each in stats.judge(pair).standings if each.contender == "b")
    assert list(advice.threads(pair, (standing,)))
    assert not list(advice.threads(pair, (replace(standing, contender="b[threads=9999]"),)))


def test_page_faults_are_spoken_of_where_they_cost_something() -> None:
    many, few = (changed(race(1.0, 1.1), "b", faults=faults, wall=4.0) for faults in (40_000, 400))
    (said,) = stats.judge(many).warnings
    assert "about b 1.5%" in said
    assert stats.judge(few).warnings == ()
    assert stats.judge(replace(many, case=replace(many.case, regime="out-of-the-box"))).warnings == ()
    assert stats.judge(replace(many, case=replace(many.case, device="cuda"))).warnings == ()


def test_contenders_that_scatter_are_named_in_one_sentence() -> None:
    scattered = race(1.0, 1.1, world=World(launch=0.08))
    (said,) = stats.judge(scattered).warnings
    assert "a " in said and ", b " in said and "by memory placement" in said
    (said,) = stats.judge(replace(scattered, case=replace(scattered.case, device="cuda"))).warnings
    assert "clocks" in said and "memory placement" not in said


def test_reason_names_the_level_and_the_family() -> None:
    assert "Holm over 3 pairs" in stats.judge(race(1.0, 1.1, 1.2)).verdicts[0].reason
    assert stats.judge(race(1.0, 1.1)).verdicts[0].reason == "the 95 % interval excludes 1"


def test_a_chain_of_verdicts_separates_whom_noise_leaves_undecided() -> None:
    said = {("a", "b"): "FASTER", ("c", "b"): "SLOWER", ("a", "c"): "UNDECIDED"}
    found = tuple(Verdict(*pair, 1.1, 0.9, 1.2, word) for pair, word in said.items())
    assert standings._places(["a", "c", "b"], found) == {"a": (1, 0), "b": (2, 1), "c": (3, 2)}


@pytest.mark.parametrize(("levels", "told"), [
    ((0.95,), "95 %"), ((0.983, 0.95), "95 to 98.3 %"), ((0.9994,), "99.9 %"), ((0.9996667, 0.999), "99.9 to 99.97 %"),
    ((1 - 4e-6,), "99.9996 %"), ((1.0,), "100 %")])
def test_no_interval_is_told_to_be_certain(levels: tuple[float, ...], told: str) -> None:
    assert student.confidence(*levels) == told


def test_a_large_field_scatters_from_to() -> None:
    """The standings tell of each."""
    wild = World(launch=0.1, round=0.005, step=0.005)
    (said,) = [each for each in stats.judge(race(*[1.0] * 6, world=wild)).warnings if "launch to launch" in each]
    assert "% to " in said and "of 6 contenders" in said


def test_launches_that_are_no_pairs_are_compared_by_welch() -> None:
    noise = np.random.default_rng(1)
    a, b = noise.normal(0, 1, 5), noise.normal(0.5, 3, 9)
    exact = ttest_ind(b, a, equal_var=False)
    mean, error, degrees = student.difference_and_error(a, b)
    assert (mean / error, degrees) == pytest.approx((exact.statistic, exact.df))


@pytest.mark.parametrize(("shift", "word"), [(0.0, "EQUIVALENT"), (0.015, "EQUIVALENT"), (0.03, "FASTER"),
                                             (-0.03, "SLOWER")])
def test_they_are_equivalent_within_the_margin_alone(shift: float, word: str) -> None:
    a = np.array([0.0, 0.001, -0.001, 0.0005, -0.0005])
    assert verdict.decide_apart([(a, a + shift)], 0.02)[0].word == word
