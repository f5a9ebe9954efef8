"""The proof of a contender that runs in several processes: each left one of its own, and each must pass."""

from collections.abc import Sequence
from dataclasses import replace

from photofinish.referee.tolerance import INFINITE
from photofinish.values import Certificate, Check


def together(earned: Sequence[Certificate], parts: int, of_each: tuple[str, ...] = ()) -> Certificate:
    """The first, its checks replaced by the worst of all; `of_each` is what was taken of each of the `parts` of a
    batch, as the reference did."""
    groups = zip(*(each.checks for each in earned))
    checks = tuple(_worst(group) for group in groups)
    return replace(earned[0], passed=all(each.passed for each in earned), checks=checks,
                   slices=parts if of_each else 1, of_slices=of_each)


def _worst(checks: Sequence[Check]) -> Check:
    """Of a rank that failed, if one did."""
    rank, worst = max(enumerate(checks), key=lambda each: (not each[1].passed, _share(each[1])))
    return replace(worst, worst=f"{worst.worst} (rank {rank})" if rank else worst.worst)


def _share(check: Check) -> float:
    """The error in parts of the error allowed."""
    return check.error / check.allowed if check.allowed else INFINITE if check.error else 0.0
