"""Whether contenders that trained from the same weights over the same batches learned the same."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from photofinish.stats import student
from photofinish.stats.curves import curves
from photofinish.stats.standings import failure_of
from photofinish.stats.verdict import ALPHA, Decision, decide_within
from photofinish.values import Agreement, Race

WORDS = {"FASTER": "HIGHER", "SLOWER": "LOWER"}


def final_accuracies(race: Race) -> dict[str, dict[int, float]]:
    """Contender -> launch -> validation accuracy after the last epoch, of the launches that got so far."""
    training = race.case.training
    assert training is not None
    last = {name: {launch: epochs[-1].validation_accuracy for launch, epochs in launches.items()
                   if len(epochs) >= training.epochs} for name, launches in curves(race).items()}
    return {name: {launch: accuracy for launch, accuracy in launches.items() if accuracy is not None}
            for name, launches in last.items()}


def accuracy_differences(race: Race) -> dict[tuple[str, str], np.ndarray]:
    """By how much the first of two ends more accurate than the second, one for each launch that trained both. Who
    failed is in no pair: the trainings that it survived are not how it ends."""
    final = {name: each for name, each in final_accuracies(race).items() if not failure_of(race, name)}
    return {(a, b): np.array([final[a][launch] - final[b][launch] for launch in final[a] if launch in final[b]])
            for a, b in combinations(final, 2)}


def agreements(race: Race) -> tuple[Agreement, ...]:
    """One for each pair that was trained together: two one-sided t tests (Schuirmann 1987) that the mean difference of
    their final accuracies, paired by launch, lies within the tolerance, by Holm's procedure over the pairs."""
    training, differences = race.case.training, accuracy_differences(race)
    assert training is not None
    judged = {pair: values for pair, values in differences.items() if len(values) > 1}
    decisions = dict(zip(judged, decide_within(list(judged.values()), training.tolerance)))
    return tuple(_with_guesses(_agreement(pair, values, decisions.get(pair), training.tolerance), race)
                 for pair, values in differences.items() if len(values))


def _agreement(pair: tuple[str, str], values: np.ndarray, decision: Decision | None, tolerance: float) -> Agreement:
    if decision is None:
        return Agreement(*pair, float(values[0]), None, None, "UNDECIDED", 1,
                         "one training does not show how trainings differ: run at least two", 1 - ALPHA)
    word = WORDS.get(decision.word, decision.word)
    level = 1 - decision.level if word in WORDS.values() else 1 - 2 * decision.equivalence_level
    reach = student.quantile((1 + level) / 2, len(values) - 1) * decision.error
    reason = f"the {student.confidence(level)} interval " + {
        "EQUIVALENT": f"lies inside ±{100 * tolerance:.3g} percentage points",
        "UNDECIDED": f"does not lie inside ±{100 * tolerance:.3g} percentage points"}.get(word, "excludes 0")
    return Agreement(*pair, decision.mean, decision.mean - reach, decision.mean + reach, word, len(values), reason,
                     level)


def _with_guesses(agreement: Agreement, race: Race) -> Agreement:
    """Two may be equally often right about different samples: on how many do they say the same?"""
    shares = [each.same / each.asked for each in race.same_guesses if {each.a, each.b} == {agreement.a, agreement.b}]
    if not shares:
        return agreement
    return replace(agreement, same=float(np.mean(shares)), same_least=min(shares), same_most=max(shares))


def divergence(race: Race) -> dict[str, tuple[float, ...]]:
    """How far each contender's losses in the first steps of its first epoch are from those of the contender named
    first: relative, the largest over launches of each step."""
    first = {name: {launch: np.array(epochs[0].first_losses) for launch, epochs in launches.items() if epochs}
             for name, launches in curves(race).items()}
    base = first[race.contenders[0]]
    found = {}
    for name in race.contenders[1:]:
        apart = [abs(losses - base[launch]) / abs(base[launch]) for launch, losses in first[name].items()
                 if launch in base and len(losses) == len(base[launch])]
        if apart:
            found[name] = tuple(map(float, np.max(apart, axis=0)))
    return found
