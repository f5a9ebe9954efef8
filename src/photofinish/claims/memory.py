"""What the races of a study say to a claim of memory."""

import math
from collections.abc import Sequence

import numpy as np

from photofinish.claims.claim import Claim, Judgement, weighed
from photofinish.claims.evidence import Test, by_word, comparable, margin_of, not_run
from photofinish.stats.standings import REHEARSAL, failure_of
from photofinish.stats.verdict import ALPHA
from photofinish.study import OUT_OF_MEMORY, Settled
from photofinish.values import Race, Result

GIB = 2**30


def _less(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """a's peak is below b's in every race, by more than its margin: of one rehearsal each, so without an interval."""
    peaks = [(_held(result), result.race.margin, title) for title, result in comparable(races)]
    ratios = [(peak[claim.asks["b"]] / peak[claim.asks["a"]], margin, title) for peak, margin, title in peaks
              if {claim.asks["a"], claim.asks["b"]} <= peak.keys()]  # a title has one for each day it was run on
    if not ratios:
        return not_run(claim, races)
    less, other = (tuple(title for ratio, margin, title in ratios if (ratio > 1 + margin) is below)
                   for below in (True, False))
    told = f"{claim.asks['b']} holds {np.median([ratio for ratio, *_ in ratios]):.2f} times as much (median)"
    return Judgement(claim, weighed(less, other), told, less, other)


def _held(result: Result) -> dict[str, int]:
    """The peak of each that did not fail: on the device where that has memory of its own."""
    held = {each.contender: each.memory if result.race.case.device == "cpu" else each.device_memory
            for each in result.standings if each.failure is None}
    return {name: peak for name, peak in held.items() if peak}


def _while_loading(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """The peak of each contender while it opens the data set is above that of its first epoch: of each launch of the
    races of task epoch, judged together (Holm)."""
    read = [(_peaks(result.race, name), f"{name}, {title}") for title, result in comparable(races)
            for name in claim.asks["contenders"]]
    peaks = [(each, title) for each, title in read if len(each) > 1]
    if not peaks:
        return not_run(claim, races)
    words = by_word([(np.log(each[:, 0] / each[:, 1]), title) for each, title in peaks], margin_of(races), ALPHA)
    told = "; ".join("{}: {:.2f} GiB while loading, {:.2f} in the first epoch".format(title, *(
        np.median(each, axis=0) / GIB)) for each, title in peaks)
    more, not_more = words["FASTER"], words["SLOWER"] + words["EQUIVALENT"]
    return Judgement(claim, weighed(more, not_more, read=len(peaks)), told, more, not_more)


def _peaks(race: Race, name: str) -> np.ndarray:
    """Bytes while loading and in the first epoch, a row for each launch; their order is that of `_while_loading`."""
    by_launch: dict[int, dict[str, int]] = {}
    for each in race.phases:
        if each.contender == name and each.launch != REHEARSAL and each.memory:
            by_launch.setdefault(each.launch, {})[each.name] = each.memory
    return np.array([(each["data"], each["first_step:epoch"]) for each in by_launch.values()
                     if {"data", "first_step:epoch"} <= each.keys()], float)


def _does_not_fit(claim: Claim, races: Sequence[Settled]) -> Judgement:
    """Where the study has no point, a or b takes more than the `card` of the study has (GiB): by the peak of its own
    allocator, or because it runs out of memory on a card that is no smaller."""
    missing = [each for each in races if each.planned.published == OUT_OF_MEMORY]
    card, names = claim.asks["card"] * GIB, (claim.asks["a"], claim.asks["b"])
    needs = {each.planned.title: [_need(result.race, name, card) for name in names] for each in missing
             for result in each.results}
    too_much = tuple(title for title, both in needs.items() if any(need is not None and need > card for need in both))
    fits = tuple(title for title, both in needs.items() if all(need is not None and need <= card for need in both))
    if not needs:
        return not_run(claim, missing)
    told = (f"of {len(needs)} missing points {len(too_much)} take more than {claim.asks['card']} GiB, {len(fits)} do "
            "not")
    return Judgement(claim, weighed(too_much, fits, read=len(needs)), told, too_much, fits)


def _need(race: Race, name: str, card: float) -> float | None:
    """Bytes of the device; None where they are not known."""
    failure = failure_of(race, name)
    if failure is not None:
        here = max((gpu["memory"] or 0 for gpu in race.machine.get("gpus", ())), default=0)
        return math.inf if failure.kind == OUT_OF_MEMORY and here >= card else None
    return max((each.device_memory for each in race.phases if each.contender == name and each.device_memory),
               default=None)


TESTS: dict[str, Test] = {"less-memory": _less, "memory-while-loading": _while_loading, "does-not-fit": _does_not_fit}
