"""Whole trainings, judged: when the target was reached, and whether final accuracies are equivalent."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ttest_rel

from photofinish.stats import curves, energy, judge
from photofinish.stats.learning import agreements, divergence, final_accuracies
from photofinish.values import Case, Certificate, Energy, Epoch, Failure, Metering, Race, Training

TRAINING = Training("digits", "digest", 1438, 359, 3, 0.9, 0.01)
CASE = Case("net", "digest", "fit", 8, (3, 8, 8), training=TRAINING)


def race(accuracies: dict[str, list[list[float]]], seconds: dict[str, float] | None = None,
         **changes: object) -> Race:
    """Contender -> launch -> validation accuracy by epoch; an epoch takes `seconds` and a tenth of it to look."""
    taken = seconds or dict.fromkeys(accuracies, 1.0)
    epochs = tuple(Epoch(launch, number, 0, name, taken[name] * (1 + launch / 100), 4, 0.5, 1 / number, 0.5,
                         taken[name] / 10, 0.4, accuracy, first_losses=(2.0, 1.0 + 0.1 * launch * (name == "b")))
                   for name, launches in accuracies.items() for launch, curve in enumerate(launches, 1)
                   for number, accuracy in enumerate(curve, 1))
    certificates = tuple(Certificate(name, "digest", True, (), "numpy", 8) for name in accuracies)
    case = replace(CASE, training=replace(TRAINING, **changes))  # type: ignore[arg-type]
    return Race("race", case, tuple(accuracies), epochs=epochs, certificates=certificates)


def test_a_training_ends_with_the_first_epoch_at_the_target() -> None:
    found = curves.rounds(race({"a": [[0.5, 0.9, 0.8]], "b": [[0.95, 0.1, 0.1]]}))
    assert found == {"a": {1: {(0, 1): pytest.approx(2 * 1.01 + 0.2)}}, "b": {1: {(0, 1): pytest.approx(1.01 + 0.1)}}}


def test_without_a_target_all_epochs_count_and_an_unfinished_launch_does_not() -> None:
    found = curves.rounds(race({"a": [[0.1, 0.1, 0.1], [0.1, 0.1]]}, target=None))
    assert found == {"a": {1: {(0, 1): pytest.approx(3 * 1.01 + 0.3)}}}


def test_a_training_that_was_interrupted_is_no_miss_and_has_no_final_accuracy() -> None:
    of = race({"a": [[0.5, 0.9, 0.9]] * 2 + [[0.5]], "b": [[0.5, 0.9, 0.9]] * 2 + [[0.4]]})
    (verdict,) = judge(of).verdicts
    assert curves.missed(of) == {} and verdict.launches == 2 and verdict.verdict != "NOT COMPARABLE"
    assert final_accuracies(of) == {name: {1: 0.9, 2: 0.9} for name in "ab"}


def test_the_energy_of_an_epoch_is_that_of_the_later_ones() -> None:
    of = race({"a": [[0.5, 0.9, 0.9]]})
    drawn = tuple(Energy(1, "a", "epoch", {"package": joules}, 2.0, 10, epoch=number)
                  for number, joules in ((1, 9e9), (2, 1438.0), (3, 1438.0)))
    of = replace(of, case=replace(of.case, task="epoch"), metering=Metering(idle={"package": 0.0}), energies=drawn)
    (found,) = energy.consumption(of)
    assert found.joules.value == pytest.approx(1.0) and found.seconds == 4.0
    assert energy.per_unit(of) == {"a": {1: pytest.approx(1.0)}}


def test_an_anchor_trains_once_in_each_group_and_its_curve_is_told_once() -> None:
    found = race({"a": [[0.5, 0.9, 0.9]], "b": [[0.5, 0.9, 0.9]]})
    again = tuple(replace(each, group=1, seconds=2 * each.seconds) for each in found.epochs if each.contender == "a")
    both = replace(found, epochs=again + found.epochs)
    assert curves.rounds(both)["a"] == {1: {(0, 1): pytest.approx(2.22), (1, 1): pytest.approx(4.24)}}
    assert curves.curves(both) == curves.curves(found)
    late = replace(both, epochs=tuple(replace(each, validation_accuracy=0.1) for each in again) + found.epochs)
    assert "a reached 0.9 of validation accuracy in 1 of 2" in curves.missed(late)["a"]


def test_who_misses_the_target_once_has_no_time_and_no_place() -> None:
    result = judge(race({"a": [[0.9, 0.9, 0.9]] * 3, "b": [[0.9, 0.9, 0.9], [0.1, 0.1, 0.1], [0.9, 0.9, 0.9]]}))
    (verdict,) = result.verdicts
    assert verdict.verdict == "NOT COMPARABLE" and "b reached 0.9" in verdict.reason and "2 of 3" in verdict.reason
    assert [(each.contender, each.place) for each in result.standings] == [("a", 1), ("b", None)]


def test_the_verdict_is_on_the_ratio_of_whole_trainings() -> None:
    accuracies = {"a": [[0.5, 0.9, 0.9]] * 3, "b": [[0.5, 0.9, 0.9]] * 3}
    (verdict,) = judge(race(accuracies, {"a": 1.0, "b": 2.0})).verdicts
    assert (verdict.verdict, verdict.launches) == ("FASTER", 3) and verdict.ratio == pytest.approx(2.0)


@pytest.mark.parametrize(("shift", "spread", "word"), [
    (0.0, 0.002, "EQUIVALENT"), (0.03, 0.002, "HIGHER"), (-0.03, 0.002, "LOWER"), (0.0, 0.03, "UNDECIDED")])
def test_final_accuracies_are_equivalent_only_if_two_one_sided_tests_say_so(shift: float, spread: float,
                                                                            word: str) -> None:
    pairs = [(0.95 + shift + spread * each, 0.95) for each in (-1.0, 0.3, 0.9, -0.4)]
    (found,) = agreements(race({"a": [[0, 0, a] for a, _ in pairs], "b": [[0, 0, b] for _, b in pairs]}))
    a, b = np.array(pairs).T
    exact = ttest_rel(a, b).confidence_interval(0.95 if word in ("HIGHER", "LOWER") else 0.90)
    assert found.verdict == word and found.difference == pytest.approx(np.mean(a - b))
    assert (found.low, found.high) == (pytest.approx(exact.low), pytest.approx(exact.high))
    inside = ttest_rel(a, b).confidence_interval(0.90)
    assert (word == "EQUIVALENT") == (inside.low > -0.01 and inside.high < 0.01)


def test_one_training_shows_no_agreement() -> None:
    (found,) = agreements(race({"a": [[0, 0, 0.9]], "b": [[0, 0, 0.9]]}))
    assert found.verdict == "UNDECIDED" and found.low is None


def test_divergence_is_the_largest_over_launches_step_by_step() -> None:
    found = divergence(race({"a": [[0.9] * 3] * 2, "b": [[0.9] * 3] * 2}))
    assert found == {"b": (0.0, pytest.approx(0.2))}


def test_who_failed_ends_equally_accurate_with_nobody() -> None:
    of = race({name: [[0, 0, 0.9], [0, 0, 0.9]] for name in "abc"})
    assert len(agreements(of)) == 3
    of = replace(of, failures=(Failure("b", "nan", "a loss is not finite", 2, "epoch:fit"),))
    assert [(each.a, each.b) for each in agreements(of)] == [("a", "c")]
