"""A regression gate: what is new raced against what was, and whether it got slower than is allowed. Values that reports
draw; `verbs.gate` makes them."""

from dataclasses import dataclass

from photofinish.stats.regression import SLOWER, Regression
from photofinish.values import Result, Skip

FAILED, PASSED, OPEN, NOT_JUDGED = "FAILED", "PASSED", "UNDECIDED", "NOT COMPARABLE"


@dataclass(frozen=True)
class Check:
    """One candidate against its baseline (as told to people) in one task. `regression` is None where they could not be
    compared; `changed` are the packages of which their environments have different versions: (name, the baseline's, the
    candidate's). `before` is the race of the model as it stood, where that is the baseline."""

    baseline: str
    candidate: str
    result: Result
    regression: Regression | None
    reason: str = ""
    changed: tuple[tuple[str, str, str], ...] = ()
    before: Result | None = None

    @property
    def outcome(self) -> str:
        return self.regression.outcome if self.regression is not None else NOT_JUDGED


@dataclass(frozen=True)
class Gate:
    """The checks of one run, and who was not checked. It fails on a slow-down that is shown to exceed `limit` (0.03:
    3 %); what stays undecided lets a change pass, and says so."""

    baseline: str
    limit: float
    checks: tuple[Check, ...] = ()
    skipped: tuple[Skip, ...] = ()

    @property
    def outcome(self) -> str:
        outcomes = {each.outcome for each in self.checks}
        if SLOWER in outcomes:
            return FAILED
        if NOT_JUDGED in outcomes or not self.checks:
            return NOT_JUDGED
        return OPEN if OPEN in outcomes else PASSED
