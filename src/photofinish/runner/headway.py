"""How far a proof is, by the files it has written so far: that of a large model takes half an hour, and says nothing
until it has ended."""

import time
from collections.abc import Iterator
from pathlib import Path

from photofinish.measure.proof import FORCED, REFERENCE, STEPS, Plan, kind
from photofinish.values import Progress


class Headway:
    """Of what a worker, from now on, does for the proof in `folder` under `label`: everything, or only what "confirm"
    and "free_runs" are of it. Files that lie there already are an earlier attempt's."""

    def __init__(self, folder: Path, label: str, do: str = "prove", forward_only: bool = False) -> None:
        self.steps = {folder / label / f"draw{draw}" / f"{exercise}.npz": STEPS if exercise.endswith("-free") else 1
                      for draw, exercise in _exercises(Plan.read(folder), label, do, forward_only)}
        self.before = {path: _written(path) for path in self.steps}
        self.begin = time.monotonic()

    def told(self) -> Progress:
        """Done and total in steps of training, of which a free run has ten, and the seconds left if the others take as
        long as those that are done."""
        total = sum(self.steps.values())
        done = sum(steps for path, steps in self.steps.items() if _written(path) not in (None, self.before[path]))
        left = (time.monotonic() - self.begin) / done * (total - done) if done else None
        return Progress("waiting", done=done, total=total, seconds_left=left)


def _exercises(plan: Plan, label: str, do: str, forward_only: bool) -> Iterator[tuple[int, str]]:
    """The draw and the name of each file of results, as `measure.proof` writes them."""
    kinds = [kind(each) for each in plan.optimizers]
    last = plan.exact_draws if label == REFERENCE else plan.draws
    if do == "free_runs":
        yield from ((draw, f"{each}-free") for draw in range(plan.draws + 1, last + 1) for each in kinds)
        return
    for draw in range((0 if do == "confirm" else last) + 1):
        yield draw, "inference"
        if forward_only:
            continue
        yield draw, "training"
        if do == "confirm":
            yield draw, f"{kinds[0]}-step{FORCED[0]}"
            continue
        for each in kinds:
            yield from ((draw, f"{each}-step{step}") for step in FORCED)
            if draw <= plan.draws:
                yield draw, f"{each}-free"


def _written(path: Path) -> int | None:
    """When, in nanoseconds; None where there is no such file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
