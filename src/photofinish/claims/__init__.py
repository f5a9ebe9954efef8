"""The claims ledger: what people say of frameworks, in their words, and what the store says to it, which has the races
of studies and what programs have seen.

A judgement is a function of the store: where nothing was run it reads NOT YET RUN, and it changes when rows are added.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from photofinish.claims import evidence, programs, races
from photofinish.claims.claim import JUDGEMENTS, Claim, Judgement
from photofinish.errors import unknown
from photofinish.study import PlannedRace, Settled
from photofinish.values import Observation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["JUDGEMENTS", "Claim", "Judgement", "chosen", "judge", "ledger", "pointed"]

LEDGER = Path(__file__).parent / "ledger.toml"


def ledger() -> list[Claim]:
    """In the order of the documents."""
    rows = tomllib.loads(LEDGER.read_text(encoding="utf-8"))["claim"]
    return [Claim(row.pop("id"), row.pop("words"), row.pop("source"), row.pop("test"),
                  published=row.pop("published", ""), asks=row) for row in rows]


def chosen(names: Sequence[str], scale: str = "") -> list[Claim]:
    """Those of the ledger that are named, all if none is, to be judged by races of that scale. Raises UsageError."""
    known = {claim.id: replace(claim, scale=scale) for claim in ledger()}
    for name in names:
        if name.upper() not in known:
            raise unknown("claim", name, known)
    return [known[name.upper()] for name in names] or list(known.values())


def judge(claim: Claim, settled: Sequence[Settled] = (), seen: Sequence[Observation] = ()) -> Judgement:
    """What the races of the claim's study, or what its programs have seen, say to it."""
    if claim.test in races.TESTS:
        of_it = evidence.about(claim, settled)
        found, left = races.TESTS[claim.test](claim, of_it), sum(each.pending for each in of_it)
        if left and found.word != "NOT YET RUN":
            are = "is" if left == 1 else "are"
            found = replace(found, why=f"{found.why}; {left} of its {len(of_it)} races {are} still to be run")
        return found
    if claim.test in programs.OBSERVERS:
        return programs.judged(claim, seen)
    return Judgement(claim, "NOT TESTABLE HERE", claim.asks["reason"])


def pointed(judgement: Judgement, stored: Mapping[str, Sequence[PlannedRace]]) -> Judgement:
    """Where none of a claim's races was run at its scale: with the others of which `stored` has some, by scale."""
    scales = [scale for scale, planned in stored.items()
              if evidence.about(judgement.claim, [Settled(each) for each in planned])]
    if judgement.word != "NOT YET RUN" or not scales:
        return judgement
    told = "; ".join(f"run at --scale {scale}: photofinish claims --scale {scale}" if scale
                     else "run at its full scale: photofinish claims" for scale in scales)
    return replace(judgement, elsewhere=told)
