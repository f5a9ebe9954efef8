"""Running an experiment: all its cells interleaved in the same launches, then its cause removed and raced again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from photofinish import api, models
from photofinish.environments import TASKS
from photofinish.errors import Stopped
from photofinish.factors import Cause, Check, Findings, Gap, cells_of, find
from photofinish.factors.plan import experiments
from photofinish.runner.arrange import one_of
from photofinish.stats import effects, paired
from photofinish.values import Contender, Progress, Result

LAUNCHES = 8  # of the experiment, and as many of the check: fixed beforehand, so that each is looked at once


def run(model: str, contenders: Sequence[str], factors: Sequence[str] = (), task: str = "train", *,
        batch: int | None = None, check: bool = True, launches: int = LAUNCHES, device: str = "cpu",
        listener: Callable[[Progress], None] | None = None, seed: int | None = None, **asked: Any) -> Findings:
    """Races `contenders`, one or two, in planned combinations of `factors` ("layout=contiguous,channels_last"; those in
    which two contenders of one framework differ need not be named), and names the cause of the gap between them if one
    is shown; with `check` it is removed and raced again on fresh launches. The rest is as in `api.race`.

    Raises UsageError (wrong use) and Stopped (Ctrl-C).
    """
    one_of("task of an experiment", task, TASKS)
    standing, planned = experiments(contenders, factors, batch or models.find(model).batch, device)
    common = {**asked, "device": device, "launches": launches, "listener": listener, "energy": False}
    names = list(dict.fromkeys(name for name, _ in cells_of(standing, planned)))
    batches = sorted({size for each in planned for _, size in each.cells})
    if listener is not None:
        listener(Progress("plan", f"{len(names) * len(batches)} combinations of "
                                  f"{' and '.join(dict.fromkeys(f.name for each in planned for f in each.factors))}"))
    try:
        results = api.race(model, names, task, batch=batches[0], seed=seed, **common) if len(batches) < 2 else \
            api.sweep(model, names, task, batches=batches, seed=seed, **common)
    except api.Interrupted as stopped:
        raise Stopped(find(standing, planned, stopped.results)) from None
    found = find(standing, planned, results)
    if not check or found.cause is None:
        return found
    try:
        return replace(found, check=_check(model, task, planned[0].batch, found.cause, found.gap, common))
    except KeyboardInterrupt:
        raise Stopped(found) from None


def _check(model: str, task: str, batch: int, cause: Cause, gap: Gap | None, common: dict[str, Any]) -> Check | None:
    faster = gap.faster if gap is not None else None
    field = dict.fromkeys(each.name for each in (cause.slower, cause.changed, faster) if each is not None)
    (result,) = api.race(model, list(field), task, batch=batch, **common)
    return checked(result, cause, faster)


def checked(result: Result, cause: Cause, faster: Contender | None) -> Check | None:
    """What the race without the cause says; None where fewer than two launches tell."""
    steps = paired.log_steps(result.race)
    gained = paired.launch_differences(steps, cause.changed.name, cause.slower.name)
    if len(gained) < 2 or any(each.verdict == "NOT COMPARABLE" for each in result.verdicts):
        return None
    left = None if faster is None or faster == cause.changed else paired.interval(
        paired.launch_differences(steps, faster.name, cause.changed.name))
    return Check(result, paired.interval(gained), effects.over(gained, cause.logs), left)
