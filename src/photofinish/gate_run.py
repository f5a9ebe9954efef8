"""Running a gate: each candidate in a race of its own against its baseline, the launches of both taking turns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from photofinish import api
from photofinish.environments import Choice
from photofinish.errors import Stopped
from photofinish.gate import Check, Gate
from photofinish.gate.baseline import Pair, pairs
from photofinish.stats import regression
from photofinish.values import Progress, Result

LAUNCHES = 10  # fresh processes of either side: fixed beforehand, so that the result is looked at once


def run(model: str, contenders: Sequence[str] = (), task: str | Sequence[str] = "train", *, baseline: str,
        max_slowdown: float = 0.03, launches: int = LAUNCHES, environments: Sequence[str] = (),
        make_environments: bool | None = None, device: str = "cpu", listener: Callable[[Progress], None] | None = None,
        **asked: Any) -> Gate:
    """Races each of `contenders` against `baseline` (see `gate.baseline.pairs`) and judges whether it got slower by
    more than `max_slowdown`. The rest is as in `api.race`.

    Raises UsageError (wrong use) and Stopped (Ctrl-C; carries the checks that were finished).
    """
    choice = Choice.of(environments, make_environments)
    found, skipped = pairs(baseline, contenders, choice, device)
    gate = Gate(baseline, max_slowdown, skipped=tuple(skipped))
    tasks = (task,) if isinstance(task, str) else tuple(task)
    for number, pair in enumerate(found):
        try:
            if listener is not None:
                listener(Progress("plan", f"{pair.candidate} against {pair.told}", done=number, total=len(found)))
            results = api.race(
                model, (pair.baseline, pair.candidate), tasks, launches=launches, margin=max_slowdown, device=device,
                environments=(*environments, *pair.places), make_environments=make_environments, listener=listener,
                **asked)
        except KeyboardInterrupt:
            raise Stopped(gate) from None
        family = len(found) * len(tasks)
        gate = replace(gate, checks=(*gate.checks, *(_check(pair, each, max_slowdown, family) for each in results)))
    return gate


def _check(pair: Pair, result: Result, limit: float, family: int) -> Check:
    verdict = result.verdicts[0]
    barred = verdict.verdict == "NOT COMPARABLE"
    found = None if barred else regression.check(result.race, verdict.a, verdict.b, limit, family)
    failed = "; ".join(f"{each.contender}: {each.kind}" for each in result.race.failures)
    reason = "" if found else verdict.reason or failed
    return Check(pair.told, pair.candidate, result, found, reason, tuple(_changed(result, verdict.a, verdict.b)))


def _changed(result: Result, baseline: str, candidate: str) -> Iterator[tuple[str, str, str]]:
    """The packages that both environments have, in different versions."""
    before, after = (result.race.environments.get(name, {}).get("packages", {}) for name in (baseline, candidate))
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield name, before[name], after[name]
