"""What a claim and a judgement are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

JUDGEMENTS = ("CONFIRMED", "REFUTED", "MIXED", "OUTDATED", "UNDECIDED", "NOT TESTABLE HERE", "NOT YET RUN",
              "NO TEST YET")


@dataclass(frozen=True)
class Claim:
    """`asks` are the particulars of its test: a study and its contenders, a package, a reason."""

    id: str
    words: str
    source: str
    test: str
    asks: dict[str, Any] = field(default_factory=dict)
    published: str = ""  # the figure behind the words, where one was printed

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


def weighed(speaking: Sequence[str], against: Sequence[str], otherwise: str = "REFUTED") -> str:
    """The word for what speaks for a claim and against it; `otherwise` where all speaks against it."""
    if not against:
        return "CONFIRMED" if speaking else "UNDECIDED"
    return "MIXED" if speaking else otherwise
