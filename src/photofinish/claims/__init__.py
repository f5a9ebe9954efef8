"""The claims ledger: what people say of frameworks, in their words, and what the stored races of studies say to it.

A judgement is a function of the store: where nothing was run it reads NOT YET RUN, and it changes when races are added.
"""

import importlib.util
import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from photofinish.errors import unknown
from photofinish.stats import curves, learning
from photofinish.stats.interaction import differences, interaction
from photofinish.stats.verdict import ALPHA, decide
from photofinish.study import Settled
from photofinish.values import Result

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEDGER = Path(__file__).parent / "ledger.toml"
JUDGEMENTS = ("CONFIRMED", "REFUTED", "MIXED", "OUTDATED", "UNDECIDED", "NOT TESTABLE HERE", "NOT YET RUN",
              "NO TEST YET")
MARGIN = 0.02  # a first epoch within this of the others is as long


@dataclass(frozen=True)
class Claim:
    """`asks` are the particulars of its test: a study and its contenders, a package, a reason."""

    id: str
    words: str
    source: str
    test: str
    asks: dict[str, Any] = field(default_factory=dict)

    @property
    def study(self) -> str:
        """The study whose races decide it, or ""."""
        return str(self.asks.get("study", ""))


@dataclass(frozen=True)
class Judgement:
    """One of JUDGEMENTS, why, and for a mixed one the races on either side."""

    claim: Claim
    word: str
    why: str
    speaking_for: tuple[str, ...] = ()
    speaking_against: tuple[str, ...] = ()


def ledger() -> list[Claim]:
    """In the order of the documents."""
    rows = tomllib.loads(LEDGER.read_text(encoding="utf-8"))["claim"]
    return [Claim(row.pop("id"), row.pop("words"), row.pop("source"), row.pop("test"), row) for row in rows]


def chosen(names: Sequence[str]) -> list[Claim]:
    """Those of the ledger that are named, all if none is. Raises UsageError."""
    known = {claim.id: claim for claim in ledger()}
    for name in names:
        if name.upper() not in known:
            raise unknown("claim", name, known)
    return [known[name.upper()] for name in names] or list(known.values())


def judge(claim: Claim, races: Sequence[Settled] = ()) -> Judgement:
    """What the races of the claim's study say to it."""
    return _TESTS[claim.test](claim, _about(claim, races))


def _about(claim: Claim, races: Sequence[Settled]) -> list[Settled]:
    """The races that the claim speaks of."""
    groups, other = claim.asks.get("groups"), claim.asks.get("except-models", ())
    return [each for each in races if (groups is None or each.planned.group in groups)
            and each.planned.model not in other]


def _open(claim: Claim, races: Sequence[Settled]) -> Judgement:
    return Judgement(claim, "NO TEST YET", claim.asks["reason"])


def _outdated(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether an installed package has the file that the claim says there is nothing like."""
    package, file = claim.asks["package"], claim.asks["file"]
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return Judgement(claim, "NOT TESTABLE HERE", f"{package} is not installed for this Python")
    there = any((Path(place) / file).exists() for place in found.submodule_search_locations)
    told = f"{package}/{file} is {'there' if there else 'not there'}"
    return Judgement(claim, "OUTDATED" if there else "CONFIRMED", told)


def _faster(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a is faster than b in every race that is decided, judged together (Holm)."""
    found = _decided(claim, races)
    if isinstance(found, Judgement):
        return found
    ahead, against = found["FASTER"], found["SLOWER"] + found["EQUIVALENT"]
    told = ", ".join(f"{len(found[word])} {word.lower()}" for word in found)
    return Judgement(claim, _word(ahead, against), f"{claim.asks['a']} in {told}", ahead, against)


def _word(speaking: Sequence[str], against: Sequence[str]) -> str:
    if not against:
        return "CONFIRMED" if speaking else "UNDECIDED"
    return "MIXED" if speaking else "REFUTED"


def _sometimes(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a is faster than b in some race."""
    found = _decided(claim, races)
    if isinstance(found, Judgement):
        return found
    word = "CONFIRMED" if found["FASTER"] else "UNDECIDED" if found["UNDECIDED"] else "REFUTED"
    return Judgement(claim, word, f"{claim.asks['a']} is faster in {len(found['FASTER'])} races", found["FASTER"],
                     found["SLOWER"])


def _depends(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Each of a and b is faster somewhere, and the ratio is not one (Welch's test)."""
    found = _decided(claim, races)
    if isinstance(found, Judgement):
        return found
    test = interaction([values for values, _ in _samples(claim, races)])
    if test is None:
        return Judgement(claim, "NOT YET RUN", "one race does not say whether others are alike")
    both = bool(found["FASTER"] and found["SLOWER"])
    told = (f"{claim.asks['a']} is faster in {len(found['FASTER'])} races, {claim.asks['b']} in "
            f"{len(found['SLOWER'])}; Welch's p = {test.chance:.2g}")
    word = "CONFIRMED" if both and test.chance < ALPHA else "MIXED" if both or test.chance < ALPHA else "REFUTED"
    return Judgement(claim, word, told, found["FASTER"], found["SLOWER"])


def _first_epoch(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether a contender's first epoch takes longer than its later ones: t tests over launches, Holm over races."""
    name = claim.asks["contender"]
    titled = [(_excess(result, name), each.planned.title) for each in races for result in each.results]
    samples = [(values, title) for values, title in titled if len(values) > 1]
    if not samples:
        return _not_run(claim, races)
    words: dict[str, list[str]] = {}
    for decision, (_, title) in zip(decide([values for values, _ in samples], MARGIN), samples):
        words.setdefault(decision.word, []).append(title)
    longer, not_longer = words.get("FASTER", []), words.get("SLOWER", []) + words.get("EQUIVALENT", [])
    speaking, against = (longer, not_longer) if claim.asks["longer"] else (not_longer, longer)
    median = math.exp(float(np.median(np.concatenate([values for values, _ in samples]))))
    told = f"the first epoch takes {median:.2f} times a later one (median of launches)"
    return Judgement(claim, _word(speaking, against), told, tuple(speaking), tuple(against))


def _same_accuracy(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Whether a and b end equally accurate after whole trainings: the equivalence tests of each race."""
    pair = {claim.asks["a"], claim.asks["b"]}
    found = [(agreement.verdict, each.planned.title) for each in races for result in each.results
             if result.race.case.task == "fit" for agreement in learning.agreements(result.race)
             if {agreement.a, agreement.b} == pair]
    if not found:
        return _not_run(claim, races)
    same = tuple(title for word, title in found if word == "EQUIVALENT")
    other = tuple(title for word, title in found if word in learning.WORDS.values())
    left = len(found) - len(same) - len(other)
    told = f"{len(same)} trainings end equally accurate, {len(other)} do not, {left} undecided"
    return Judgement(claim, _word(same, other), told, same, other)


def _excess(result: Result, name: str) -> np.ndarray:
    """log seconds of the first epoch less the mean log of later ones, of each launch."""
    launches = curves.curves(result.race).get(name, {}) if result.race.case.training else {}
    found = []
    for epochs in launches.values():
        logs = {each.number: math.log(each.seconds) for each in epochs}
        later = [value for number, value in logs.items() if number > 1]
        if 1 in logs and later:
            found.append(logs[1] - sum(later) / len(later))
    return np.array(found)


def _samples(claim: Claim, races: Sequence[Settled]) -> list[tuple[np.ndarray, str]]:
    """Differences of the claim's pair, of each race that is certified and has two launches, and its title."""
    a, b = claim.asks["a"], claim.asks["b"]
    pairs = [(differences(result.race, a, b), each.planned.title) for each in races for result in each.results
             if result.comparable and {a, b} <= set(result.race.contenders)]
    return [(values, title) for values, title in pairs if len(values) > 1]


def _decided(claim: Claim, races: Sequence[Settled]) -> Judgement | dict[str, tuple[str, ...]]:
    """Word -> titles of races, all judged together; a judgement if there is nothing to judge."""
    samples = _samples(claim, races)
    if not samples:
        return _not_run(claim, races)
    margin = next(result.race.margin for each in races for result in each.results)
    decisions = decide([values for values, _ in samples], margin)
    return {word: tuple(title for decision, (_, title) in zip(decisions, samples) if decision.word == word)
            for word in ("FASTER", "SLOWER", "EQUIVALENT", "UNDECIDED")}


def _not_run(claim: Claim, races: Sequence[Settled]) -> Judgement:
    reasons = Counter(each.reason for each in races)
    if races and not reasons[""]:
        return Judgement(claim, "NOT TESTABLE HERE", "; ".join(reasons))
    return Judgement(claim, "NOT YET RUN", f"photofinish study run {claim.study}")


_TESTS: dict[str, Callable[[Claim, Sequence[Settled]], Judgement]] = {
    "open": _open, "outdated": _outdated, "faster": _faster, "sometimes": _sometimes, "depends": _depends,
    "first-epoch": _first_epoch, "same-accuracy": _same_accuracy}
