"""Running an experiment: all its cells interleaved in the same launches; then what is without its cause, and what it
recommends, raced again."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from photofinish import api, models
from photofinish.environments import TASKS
from photofinish.errors import Stopped, UsageError
from photofinish.factors import Cause, Check, Findings, Recommended, cells_of, find
from photofinish.factors.plan import experiments
from photofinish.runner.arrange import one_of
from photofinish.stats import effects, paired, verdict
from photofinish.values import Contender, Progress, Result

LAUNCHES = 8  # of the experiment, and as many of the check: fixed beforehand, so that each is looked at once


def run(model: str, contenders: Sequence[str], factors: Sequence[str] = (), task: str = "train", *,
        batch: int | None = None, check: bool = True, launches: int = LAUNCHES, device: str = "cpu",
        listener: Callable[[Progress], None] | None = None, seed: int | None = None, **asked: Any) -> Findings:
    """Races `contenders`, one or two, in planned combinations of `factors` ("layout=contiguous,channels_last"; those in
    which two contenders of one framework differ need not be named), names the cause of the gap between them if one
    is shown, and recommends the settings that are shown to be faster; with `check` the cause is removed, and what is
    recommended taken, on fresh launches. The rest is as in `api.race`.

    Raises UsageError (wrong use) and Stopped (Ctrl-C).
    """
    one_of("task of an experiment", task, TASKS)
    standing, planned = experiments(contenders, factors, batch or models.find(model).batch, device)
    if batch is not None and planned[0].batch != batch:
        raise UsageError(f"the batch is to stand at {batch}, and as a factor it stands at {planned[0].batch}",
                         f"write --factor batch={batch},{planned[0].batch}, or leave --batch out")
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
    if not check or not (found.cause or found.recommended):
        return found
    try:
        return _raced_again(found, model, task, planned[0].batch, common)
    except KeyboardInterrupt:
        raise Stopped(found) from None


def _raced_again(found: Findings, model: str, task: str, batch: int, common: dict[str, Any]) -> Findings:
    cause, faster = found.cause, found.gap.faster if found.gap else None
    field = [cause.slower, cause.changed, *([faster] if faster else [])] if cause else []
    field += [each for pair in found.recommended for each in (pair.own, pair.taken)]
    (result,) = api.race(model, list(dict.fromkeys(each.name for each in field)), task, batch=batch, **common)
    return replace(found, check=checked(result, cause, faster) if cause else None,
                   recommended=tuple(taken(result, each) for each in found.recommended), again=result)


def taken(result: Result, each: Recommended) -> Recommended:
    """With what the race of it says, or why that says nothing."""
    gained = _gained(result, each.taken, each.own)
    if len(gained) < 2:
        return replace(each, reason=_untold(result, each.taken, each.own))
    return replace(each, observed=paired.interval(gained))


def checked(result: Result, cause: Cause, faster: Contender | None) -> Check:
    """What the race without the cause says, or why it says nothing."""
    gained = _gained(result, cause.changed, cause.slower)
    if len(gained) < 2:
        return Check(None, None, reason=_untold(result, cause.changed, cause.slower))
    left = np.array([]) if faster in (None, cause.changed) else _gained(result, faster, cause.changed)
    return Check(paired.interval(gained), effects.over(gained, cause.logs),
                 paired.interval(left) if len(left) else None)


def _untold(result: Result, a: Contender, b: Contender) -> str:
    """Why a race does not compare two."""
    return next((each.reason for each in result.verdicts if {each.a, each.b} == {a.name, b.name} and each.low is None),
                "fewer than two launches compare them")


def _gained(result: Result, to: Contender, of: Contender) -> np.ndarray:
    """log seconds(of) - log seconds(to) by launch; nothing where one of them failed or is not proven."""
    if not verdict.compared(result, to.name, of.name):
        return np.array([])
    return paired.launch_differences(paired.log_steps(result.race), to.name, of.name)
