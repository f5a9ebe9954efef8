"""Running a gate: each candidate in a race of its own against its baseline, the launches of both taking turns."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from photofinish import api, models
from photofinish.environments import Choice, expand
from photofinish.errors import Stopped, UsageError
from photofinish.gate import Check, Gate, commits
from photofinish.gate.baseline import Pair, pairs
from photofinish.graph import ModelError
from photofinish.runner.arrange import check_shares, check_tasks, find_entries, left_out, make_case, named
from photofinish.runner.largest import fixed_batch
from photofinish.stats import regression
from photofinish.stats.standings import failure_of, no_certificate
from photofinish.values import Case, Progress, Race, Result

LAUNCHES = 10  # fresh processes of either side: fixed beforehand, so that the result is looked at once


def run(model: str, contenders: Sequence[str] = (), task: str | Sequence[str] = "train", *, baseline: str,
        max_slowdown: float = 0.03, launches: int = LAUNCHES, environments: Sequence[str] = (),
        make_environments: bool | None = None, device: str = "cpu", listener: Callable[[Progress], None] | None = None,
        **asked: Any) -> Gate:
    """Races each of `contenders` against `baseline` (see `gate.baseline.pairs`) and judges whether it got slower by
    more than `max_slowdown`. Of the baseline "git:REVISION" the model, which is one of a file, is compared with what it
    was then. The rest is as in `api.race`.

    Raises UsageError (wrong use) and Stopped (Ctrl-C; carries the checks that were finished).
    """
    if baseline.startswith(commits.MARK):
        return _since(model, contenders, (task,) if isinstance(task, str) else tuple(task), baseline, max_slowdown,
                      listener=listener, launches=launches, environments=environments,
                      make_environments=make_environments, device=device, **asked)
    choice = Choice.of(environments, make_environments)
    found, skipped = pairs(baseline, contenders, choice, device)
    gate = Gate(baseline, max_slowdown, skipped=tuple(skipped))
    tasks = (task,) if isinstance(task, str) else tuple(task)
    check_tasks(tasks)
    cases = _cases(model, tasks, device, **asked)
    for pair in found:  # all of them before the first is raced: its check would be lost
        _insist(pair, cases, device, Choice.of((*environments, *pair.places), make_environments), listener)
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


def _cases(model: str, tasks: Sequence[str], device: str, *, batch: int | str | None = None,
           shape: tuple[int, ...] | None = None, classes: int | None = None, optimizer: str = "",
           regime: str = "matched", threads: int | None = None, memory_limit: int | None = None,
           **_: Any) -> list[Case]:
    """What will be raced, a case for each task. Raises UsageError."""
    size = fixed_batch(batch, memory_limit, device)
    case = make_case(model, size, shape, classes, optimizer, regime, device, threads)[1]
    return [replace(case, task=each) for each in tasks]


def _insist(pair: Pair, cases: Sequence[Case], device: str, choice: Choice,
            listener: Callable[[Progress], None] | None) -> None:
    """Raises UsageError if one of the two cannot run here, in environments made now, or lacks one of the tasks, or its
    processes cannot share the batch."""
    both, tasks = (pair.baseline, pair.candidate), [each.task for each in cases]
    left_out(tasks, named(both, device, choice))
    entries, _ = find_entries(both, device, choice, listener, tasks)
    check_shares(entries, cases)


def _since(model: str, contenders: Sequence[str], tasks: Sequence[str], baseline: str, limit: float, *,
           listener: Callable[[Progress], None] | None, device: str, store: Path | str | None = None,
           **asked: Any) -> Gate:
    """Each contender on the model as it stood in a commit, and as it stands."""
    if not contenders:
        raise UsageError(f"--baseline {baseline} does not say whose", "name the candidates: --contenders torch:eager")
    folder = Path(store or api.DEFAULT_STORE)
    was, commit = commits.stood(model, baseline.removeprefix(commits.MARK), folder / "commits")
    try:
        models.find(was)
    except ModelError as error:
        kept, now = was.partition(":")[0], model.partition(":")[0]
        told = str(error).replace(kept, f"{now} of commit {commit}").partition("; write")[0]
        raise UsageError(f"--baseline {baseline}: {told}", "name a revision that has this model") from error
    everyone = expand(*contenders, device=device)
    check_tasks(tasks)
    left_out(tasks, everyone, least=1)
    names = [each.name for each in everyone]
    gate = Gate(baseline, limit)
    for each in tasks:
        try:
            before, after = api.side_by_side({f"commit {commit}": was, "commit now": model}, names, each, margin=limit,
                                             device=device, store=store, listener=listener, **asked)
        except KeyboardInterrupt:
            raise Stopped(gate) from None
        family = len(tasks) * len(names)
        gate = replace(gate, checks=(*gate.checks, *(_changed_model(name, commit, before, after, limit, family)
                                                     for name in names)))
    return gate


def _changed_model(name: str, commit: str, before: Result, after: Result, limit: float, family: int) -> Check:
    barred = _barred(before.race, commit, name) or _barred(after.race, "now", name)
    found = None if barred else regression.between(before.race, after.race, name, limit, family)
    reason = "" if found else barred or "fewer than two launches compare them"
    return Check(f"{name} on the model of {commit}", name, after, found, reason, before=before)


def _barred(race: Race, when: str, name: str) -> str:
    """Why a contender is not judged by its race on one of the models, whatever the others in it did; "" if it is."""
    failure = failure_of(race, name)
    if failure is not None:
        return f"{name} on the model of {when}: {failure.kind}: {failure.message}"
    unproven = f"the model of {when} is not proven to be computed as the reference does"
    skipped = (each.reason for each in race.skipped if each.contender == name)
    return next(skipped, unproven if no_certificate(race, name) else "")


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
