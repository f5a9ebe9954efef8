"""The verdicts of a race: who is faster, who is equivalent, and how much more time the rest would need.

Each pair gets two tests on its launch differences: of difference (t) and of equivalence (two one-sided
t tests, Schuirmann 1987). Over the pairs of a race each is run by Holm's step-down procedure (1979), so
that a race of many contenders makes a false claim of each kind at most in 5 % of cases; the interval
shown for a pair is at the level Holm reached for it, so that it excludes 1 exactly where the word says
so. A race that was looked at before its end spends its 5 % over the looks (see `share`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from photofinish.stats import paired, student
from photofinish.values import Race, Result, Verdict

ALPHA = 0.05
# Of ALPHA, for a look after the pilot and for the end. The rest is kept back because the number of launches
# follows from the pilot's own spread, which lets the end reject more than it says (Wittes & Brittain 1990).
SPENDING = (0.2, 0.6)
POWER = 0.8  # with which `seconds_to_decide` would decide


def share(race: Race) -> float:
    """The part of ALPHA that the race may spend now: all of it if nobody looked before."""
    if not race.looks:
        return 1.0
    launches = {block.launch for block in paired.timed_blocks(race)}
    return SPENDING[0] if len(launches) <= race.looks[0] else SPENDING[1]


def left(races: Iterable[Race]) -> float:
    """Of ALPHA, for races that are judged together: no more than any of them may spend."""
    return ALPHA * min(map(share, races), default=1.0)


def compared(result: Result, a: str, b: str) -> bool:
    """Whether the race itself judges the two: not where one of them failed."""
    return not any({each.a, each.b} == {a, b} and each.verdict == "NOT COMPARABLE" for each in result.verdicts)


@dataclass(frozen=True)
class Decision:
    """What the numbers of one pair say. `level` is the two-sided error rate of the interval, and the
    one-sided one of the test of equivalence is `equivalence_level`."""

    word: str
    mean: float
    error: float
    level: float
    equivalence_level: float


def decide(differences: Sequence[np.ndarray], margin: float, alpha: float = ALPHA) -> list[Decision]:
    """A decision for each pair from its differences log b - log a, one per launch, at least two."""
    return decide_within(differences, math.log1p(margin), alpha)


def decide_within(differences: Sequence[np.ndarray], theta: float, alpha: float = ALPHA) -> list[Decision]:
    """The same of differences of any quantity: those within ± theta count as none."""
    return decide_by([(*student.mean_and_error(values), len(values) - 1) for values in differences], theta, alpha)


def decide_apart(pairs: Sequence[tuple[np.ndarray, np.ndarray]], margin: float, alpha: float = ALPHA) -> list[Decision]:
    """The same of logs that nothing pairs, at least two on either side: those of a, and those of b."""
    return decide_by([student.difference_and_error(a, b) for a, b in pairs], math.log1p(margin), alpha)


def decide_by(summaries: Sequence[tuple[float, float, float]], theta: float, alpha: float = ALPHA) -> list[Decision]:
    """By differences, their standard errors and the degrees of freedom of these."""
    differ = [2 * student.tail(_over(abs(mean), error), degrees) for mean, error, degrees in summaries]
    agree = [student.tail(_over(theta - abs(mean), error), degrees) for mean, error, degrees in summaries]
    levels, equivalence_levels = holm(differ, alpha), holm(agree, alpha)
    decisions = []
    for i, (mean, error, _) in enumerate(summaries):
        word = "UNDECIDED"
        if agree[i] <= equivalence_levels[i]:
            word = "EQUIVALENT"
        elif differ[i] <= levels[i]:
            word = "FASTER" if mean > 0 else "SLOWER"
        decisions.append(Decision(word, mean, error, levels[i], equivalence_levels[i]))
    return decisions


def holm(p_values: Sequence[float], alpha: float) -> list[float]:
    """The level at which each hypothesis is tested: alpha/m, alpha/(m-1), ... for the smallest p values
    while they pass, and that of the first to fail for all the rest."""
    levels = [0.0] * len(p_values)
    divisor, failed = len(p_values), False
    for index in sorted(range(len(p_values)), key=p_values.__getitem__):
        levels[index] = alpha / divisor
        failed = failed or p_values[index] > levels[index]
        divisor -= not failed
    return levels


def _over(distance: float, error: float) -> float:
    """A t value; a scripted clock has no error at all."""
    if error > 0:
        return distance / error
    return math.copysign(math.inf, distance) if distance else 0.0


def verdicts(race: Race, barred: dict[str, str]) -> tuple[Verdict, ...]:
    """One for each pair, in the order of the race's contenders. `barred` maps a contender that cannot be
    compared to the reason."""
    steps = paired.log_steps(race)
    pairs = list(combinations(race.contenders, 2))
    differences = {(a, b): paired.launch_differences(steps, a, b) for a, b in pairs}
    judged = [pair for pair in pairs if len(differences[pair]) >= 2 and not barred.keys() & set(pair)]
    decisions = dict(zip(judged, decide([differences[pair] for pair in judged], race.margin, ALPHA * share(race))))
    cost = launch_seconds(race)
    return tuple(_verdict(pair, differences[pair], decisions[pair], race.margin, cost, len(judged),
                          paired.apart(steps, *pair)) if pair in decisions
                 else _unjudged(pair, differences[pair], barred) for pair in pairs)


def launch_seconds(race: Race) -> float | None:
    """The mean cost of a launch; None where it was not recorded."""
    costs = [launch.seconds for launch in race.launches if launch.seconds > 0]
    return float(np.mean(costs)) if costs else None


def _verdict(pair: tuple[str, str], differences: np.ndarray, decision: Decision, margin: float, cost: float | None,
             family: int, apart: int) -> Verdict:
    estimate = paired.interval(differences, 1 - decision.level)
    through = f"; through the anchor in {apart} of {len(differences)} launches" if apart else ""
    seconds: float | None = 0.0
    if decision.word == "UNDECIDED":
        more = max(1, launches_to_decide(decision, len(differences), margin) - len(differences))
        seconds = None if cost is None else more * cost
    return Verdict(*pair, estimate.value, estimate.low, estimate.high, decision.word, seconds, len(differences),
                   _reason(decision, margin, family) + through, 1 - decision.level)


def _reason(decision: Decision, margin: float, family: int) -> str:
    difference = f"the {student.confidence(1 - decision.level)} interval"
    equivalence = f"the {student.confidence(1 - 2 * decision.equivalence_level)} interval"
    inside = f"inside ±{100 * margin:.3g} %"
    text = {
        "EQUIVALENT": f"{equivalence} lies {inside}",
        "UNDECIDED": f"{difference} includes 1 and {equivalence} does not lie {inside}",
    }.get(decision.word, f"{difference} excludes 1")
    return text + (f" (Holm over {family} pairs)" if family > 1 else "")


def launches_to_decide(decision: Decision, launches: int, margin: float) -> int:
    """Launches in all, at the mean and spread seen, that would show a difference or an equivalence,
    whichever comes first, with a chance of 80 %."""
    spread = decision.error * math.sqrt(launches)
    room = math.log1p(margin) - abs(decision.mean)
    both_sides = (1 + POWER) / 2  # an equivalence can be missed on either side
    return min(student.launches_needed(spread, abs(decision.mean), decision.level / 2, POWER),
               student.launches_needed(spread, room, decision.equivalence_level, both_sides))


def _unjudged(pair: tuple[str, str], differences: np.ndarray, barred: dict[str, str]) -> Verdict:
    """Why a pair has no interval: it may not be compared, or a launch or all are missing."""
    reasons = [barred[name] for name in pair if name in barred]
    if reasons:
        return Verdict(*pair, None, None, None, "NOT COMPARABLE", None, len(differences), "; ".join(reasons))
    ratio = math.exp(differences[0]) if len(differences) else None
    reason = "one launch does not show how launches differ: run at least two" if len(differences) else "not timed yet"
    return Verdict(*pair, ratio, None, None, "UNDECIDED", None, len(differences), reason)
