"""What a claim and a judgement are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JUDGEMENTS = ("CONFIRMED", "REFUTED", "MIXED", "OUTDATED", "UNDECIDED", "NOT TESTABLE HERE", "NOT YET RUN")


@dataclass(frozen=True)
class Claim:
    """`asks` are the particulars of its test: a study and its contenders, a package, a reason."""

    id: str
    words: str
    source: str
    test: str
    asks: dict[str, Any] = field(default_factory=dict)
    published: str = ""  # the figure behind the words, where one was printed
    scale: str = ""  # of the study by whose races it is judged

    @property
    def study(self) -> str:
        """The study whose races decide it, or ""."""
        return str(self.asks.get("study", ""))

    @property
    def command(self) -> str:
        """What runs those races."""
        return f"photofinish study run {self.study}" + (f" --scale {self.scale}" if self.scale else "")


@dataclass(frozen=True)
class Judgement:
    """One of JUDGEMENTS, why, and for a mixed one the races on either side."""

    claim: Claim
    word: str
    why: str
    speaking_for: tuple[str, ...] = ()
    speaking_against: tuple[str, ...] = ()
    elsewhere: str = ""  # where nothing was run at its scale: at which the store has races of its study, and how to ask


def weighed(speaking: Sequence[str], against: Sequence[str], otherwise: str = "REFUTED", read: int = 0) -> str:
    """The word for what speaks for a claim and against it, of `read` readings; `otherwise` where all speaks against it.
    Where half of them or more are undecided and none speaks against it, so is the claim."""
    if not against:
        return "CONFIRMED" if 2 * len(speaking) > max(read, len(speaking)) else "UNDECIDED"
    return "MIXED" if speaking else otherwise


def reading(words: str, decided: bool) -> str:
    """What was read, one of several, marked where it speaks neither for a claim nor against it."""
    return words if decided else f"{words} (undecided)"


def together(claim: Claim, parts: Mapping[str, Judgement]) -> Judgement:
    """The judgement of a claim that says several things: what is not judged of them might speak the other way."""
    words = [each.word for each in parts.values()]
    for word in ("NOT YET RUN", "NOT TESTABLE HERE"):
        if word in words and set(words) <= {"NOT YET RUN", "NOT TESTABLE HERE"}:
            return Judgement(claim, word, next(each.why for each in parts.values() if each.word == word))
    speaking = tuple(f"{name}: {said}" for name, each in parts.items() if each.word in ("CONFIRMED", "MIXED")
                     for said in each.speaking_for or (each.why,))
    against = tuple(f"{name}: {said}" for name, each in parts.items() if each.word in ("REFUTED", "MIXED")
                    for said in each.speaking_against or (each.why,))
    word = weighed(speaking, against)
    judged = all(each in ("CONFIRMED", "REFUTED", "MIXED") for each in words)
    told = "; ".join(f"{name}: {each.word} ({each.why})" for name, each in parts.items())
    return Judgement(claim, word if judged or word == "MIXED" else "UNDECIDED", told, speaking, against)
