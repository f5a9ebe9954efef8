"""A framework's versions raced against each other: what changed over the years (a history), and in which release it got
slower (a search). Values that reports draw; `verbs.timeline` makes them, `versions` says which versions are meant."""

from dataclasses import dataclass

from photofinish.stats import bisection
from photofinish.stats.bisection import Position
from photofinish.timeline.versions import Dated
from photofinish.values import Result, Skip, Verdict

FOUND, BRACKET = "FOUND", "BRACKET"  # the release; between which two it is
NOT_SLOWER, UNDECIDED, NOT_COMPARABLE = "NOT SLOWER", "UNDECIDED", "NOT COMPARABLE"  # of the two ends
SEARCHING = "NOT COMPLETE"


@dataclass(frozen=True)
class History:
    """The versions asked for, what one race of all that can run gave (a result for each task), and why the others
    cannot."""

    versions: tuple[Dated, ...]
    results: tuple[Result, ...]
    skipped: tuple[Skip, ...] = ()


@dataclass(frozen=True)
class Look:
    """A race of a version with both ends: the version's number, and where it lies or why that is not known."""

    number: int
    result: Result | None = None
    position: Position | None = None
    reason: str = ""

    @property
    def side(self) -> str:
        return self.position.side if self.position is not None else bisection.OPEN


@dataclass(frozen=True)
class Search:
    """What is known of versions in order: the race of the two `ends`, the `looks` at others, and the race of the two
    that the change lies between (`closing`), which had no part in choosing them: that of the ends if it is these."""

    versions: tuple[Dated, ...]
    ends: Result | None = None
    looks: tuple[Look, ...] = ()
    closing: Result | None = None

    @property
    def sides(self) -> dict[int, str]:
        return {each.number: each.side for each in self.looks}

    @property
    def bracket(self) -> tuple[Dated, Dated]:
        """The last version known to be on the fast side, the first on the slow one."""
        low, high = bisection.bracket(len(self.versions), self.sides)
        return self.versions[low], self.versions[high]

    @property
    def between(self) -> tuple[Dated, ...]:
        """The versions inside the bracket, none if its ends are neighbours."""
        low, high = bisection.bracket(len(self.versions), self.sides)
        return self.versions[low + 1:high]

    @property
    def whole(self) -> Verdict | None:
        """Of the first version against the last."""
        return self.ends.verdicts[0] if self.ends is not None else None

    @property
    def change(self) -> Verdict | None:
        """Of the two that the change lies between."""
        return self.closing.verdicts[0] if self.closing is not None else None

    @property
    def outcome(self) -> str:
        if self.whole is None:
            return SEARCHING
        if self.whole.verdict != "FASTER":
            return {"EQUIVALENT": NOT_SLOWER, "SLOWER": NOT_SLOWER}.get(self.whole.verdict, self.whole.verdict)
        if self.change is None:
            return SEARCHING
        return FOUND if self.change.verdict == "FASTER" and not self.between else BRACKET
