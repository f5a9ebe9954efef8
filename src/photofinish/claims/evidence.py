"""What of a study's races speaks to a claim."""

from collections.abc import Callable, Sequence

import numpy as np

from photofinish.claims.claim import Claim, Judgement
from photofinish.stats.interaction import differences
from photofinish.stats.verdict import compared, decide, left
from photofinish.study import Settled
from photofinish.values import Race, Result

Test = Callable[[Claim, Sequence[Settled]], Judgement]
Measure = Callable[[Race, str, str], np.ndarray]  # differences of a and b, one for each launch


def about(claim: Claim, races: Sequence[Settled]) -> list[Settled]:
    """The races that the claim speaks of."""
    groups, other = claim.asks.get("groups"), claim.asks.get("except-models", ())
    return [each for each in races if (groups is None or each.planned.group in groups)
            and each.planned.model not in other]


def comparable(races: Sequence[Settled]) -> list[tuple[str, Result]]:
    """The title and result of every race that is certified."""
    return [(each.planned.title, result) for each in races for result in each.results if result.comparable]


def margin_of(races: Sequence[Settled]) -> float:
    return next(result.race.margin for each in races for result in each.results)


def alpha_of(races: Sequence[Settled]) -> float:
    """The rate of error at which they are judged together."""
    return left(result.race for each in races for result in each.results)


def samples(claim: Claim, races: Sequence[Settled], measured: Measure = differences) -> list[tuple[np.ndarray, str]]:
    """Differences of the claim's pair, or of a and each of several, of each race that is certified and has two
    launches, and its title."""
    a, others = claim.asks["a"], claim.asks["b"]
    several = isinstance(others, list)
    pairs = [(measured(result.race, a, b), f"{title}, against {b}" if several else title)
             for title, result in comparable(races) for b in (others if several else [others])
             if {a, b} <= set(result.race.contenders) and compared(result, a, b)]
    return [(values, title) for values, title in pairs if len(values) > 1]


def decided(claim: Claim, races: Sequence[Settled], measured: Measure = differences,
            ) -> Judgement | dict[str, tuple[str, ...]]:
    """Word -> titles of races, all judged together; a judgement if there is nothing to judge."""
    found = samples(claim, races, measured)
    return by_word(found, margin_of(races), alpha_of(races)) if found else not_run(claim, races)


def by_word(found: Sequence[tuple[np.ndarray, str]], margin: float, alpha: float) -> dict[str, tuple[str, ...]]:
    """Word -> titles, of differences by launch and their titles, all judged together (Holm)."""
    decisions = decide([values for values, _ in found], margin, alpha)
    return {word: tuple(title for decision, (_, title) in zip(decisions, found) if decision.word == word)
            for word in ("FASTER", "SLOWER", "EQUIVALENT", "UNDECIDED")}


def not_run(claim: Claim, races: Sequence[Settled], lacking: str = "") -> Judgement:
    """Of races that tell nothing of it: they are still to be run, or cannot be, or do not tell by what they came to;
    `lacking` says what of them its test takes."""
    if not races or any(each.pending for each in races):
        return Judgement(claim, "NOT YET RUN", lacking or claim.command)
    if lacking:
        return Judgement(claim, "NOT TESTABLE HERE", lacking)
    reasons = [each.reason for each in races] + [reason for each in races for result in each.results
                                                 for reason in _silent(result)]
    return Judgement(claim, "NOT TESTABLE HERE", "; ".join(dict.fromkeys(filter(None, reasons))))


def _silent(result: Result) -> list[str]:
    """Why a race that was run compares nobody who is asked for."""
    race = result.race
    out = [f"{each.contender}: {each.reason}" for each in race.skipped]
    out += [f"{each.contender} failed: {each.kind}" for each in race.failures if each.contender]
    if not out and not result.comparable:
        out.append("the contenders are not proven to compute the same")
    return out or ["one launch is not enough" if len(race.launches) < 2 else
                   "its races do not compare those it speaks of"]
