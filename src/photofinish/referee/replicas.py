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
    rank, worst = max(enumerate(checks), key=lambda each: each[1].error / (each[1].allowed or INFINITE))
    passed = all(each.passed for each in checks)
    return replace(worst, passed=passed, worst=f"{worst.worst} (rank {rank})" if rank else worst.worst)
