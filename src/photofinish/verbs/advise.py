"""Advice with the races it rests on: one of all that could be taken, and one more of the first two, on fresh launches,
to see whether it holds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from photofinish import api, environments, sensors
from photofinish.advise import Advice, advise
from photofinish.advise.goals import Goal
from photofinish.environments import TASKS, Choice
from photofinish.errors import Stopped, UsageError, unknown
from photofinish.factors.flip import variations
from photofinish.outcome import Outcome
from photofinish.runner.arrange import one_of
from photofinish.store import reading
from photofinish.values import MODE, Contender, Progress, Result

LAUNCHES = 6  # of the race that repeats the first two
ALSO_CALLED = {"bf16": ("bfloat16",), "fp16": ("float16",), "half": ("float16",)}  # what others call a format


def formats() -> list[str]:
    """The coarser formats in which some contender computes, or sends its gradients: what can be allowed."""
    known = environments.frameworks().values()
    computed = [each for info in known for each, _ in info.precisions.values()]
    sent = [each for info in known for strategy in info.strategies.values() for each in strategy.gradients.values()]
    return sorted({*computed, *sent})


def check(goal: Goal) -> None:
    """Raises UsageError for a format that nobody has."""
    for each in goal.formats:
        if each not in formats():
            raise unknown("coarser format", each, formats(), meant=ALSO_CALLED.get(each.lower(), ()))


def _check_sensor(device: str) -> None:
    """Raises UsageError where energy cannot be measured."""
    found = sensors.meter(device)
    if isinstance(found, sensors.Absent):
        raise UsageError(f"--goal energy: nothing measures energy here ({found.reason})",
                         "see: photofinish doctor; or choose another --goal")


def with_defaults(goal: Goal) -> Goal:
    """The goal, told which mode each framework's users get who ask for none."""
    return replace(goal, defaults={name: each.default_mode for name, each in environments.frameworks().items()})


def candidates(goal: Goal, task: str, device: str, choice: Choice) -> list[str]:
    """Everything that could be taken here at once: each framework in each of its modes that has the task, in formats
    that are allowed; of one to stay with, its default mode with each of its other settings, too."""
    found: list[str] = []
    for each in environments.installed(choice, device):
        info = environments.frameworks()[each.framework]
        if info.in_house or (goal.frameworks and info.name not in goal.frameworks):
            continue
        found += [Contender(info.name, mode).name for mode in info.modes
                  if task in info.tasks_of(mode) and device.partition(":")[0] in info.devices_of(mode)
                  and (mode not in info.precisions or info.precisions[mode][0] in goal.formats)]
        if goal.frameworks:
            usual = Contender(info.name, info.default_mode)
            found += [changed.name for told, changed in variations(usual, (), task, device)
                      if not told.startswith(f"{MODE}=")]
    return list(dict.fromkeys(found))


def _field(contenders: Sequence[str], goal: Goal, task: str, device: str, choice: Choice) -> tuple[str, ...]:
    """Who races. Raises UsageError where none of them could be taken."""
    kept = " or ".join(goal.frameworks) or "any framework"
    if contenders:
        able = [each for each in environments.expand(*contenders, device=device)
                if not goal.frameworks or each.framework in goal.frameworks]
        if not able:
            raise UsageError(f"no contender is one of {kept}, with which you stay", "name one, or leave --keep out")
        return tuple(contenders)
    found = tuple(candidates(goal, task, device, choice))
    if not found:  # a race of nobody would be one of all
        raise UsageError(f"nothing of {kept} can run here at once in task {task}",
                         "name what is to be made as well, with --contenders; see: photofinish doctor")
    return found


def run(model: str, goal: Goal, contenders: Sequence[str] = (), task: str = "train", *, repeat: bool = True,
        environments: Sequence[str] = (), make_environments: bool | None = None, device: str = "cpu",
        listener: Callable[[Progress], None] | None = None, seed: int | None = None, **asked: Any) -> Advice:
    """Races `contenders` (all that could be taken here, if none are named) and advises one for the goal; with `repeat`
    it races the first two again on fresh launches. The rest is as in `api.race`.

    Raises UsageError (wrong use) and Stopped (Ctrl-C).
    """
    one_of("task to be advised on", task, TASKS)
    check(goal)
    if goal.name == "energy":
        _check_sensor(device)
    goal = with_defaults(goal)
    field = _field(contenders, goal, task, device, Choice.of(environments, make_environments))
    common = {**asked, "device": device, "environments": environments, "make_environments": make_environments,
              "listener": listener}
    try:
        found = advise(_only(api.race(model, field, task, seed=seed, **common)), goal)
    except api.Interrupted as stopped:
        raise Stopped(advise(stopped.results[0], goal) if stopped.results else None) from None
    if not repeat or len(found.options) < 2:
        return found
    first_two = [each.contender for each in found.options[:2]]
    try:
        again = api.race(model, first_two, task, **{**common, "launches": LAUNCHES})
    except KeyboardInterrupt:
        raise Stopped(found) from None
    return replace(found, repeated=_only(again))


def read(goal: Goal, session: str = "last", store: Path | str | None = None) -> Advice:
    """What a race that is in the store says of the goal. Raises UsageError."""
    check(goal)
    return advise(_only(api.load(session, store), store), with_defaults(goal))


def _only(results: Outcome, store: Path | str | None = None) -> Result:
    """Raises UsageError where there are several."""
    if len(results) != 1:
        raise UsageError(f"that session holds {len(results)} races, and advice is read from one",
                         "name one by its id: " + reading("report --list", store))
    if results[0].race.case.task not in TASKS:
        raise UsageError(f"a race of task {results[0].race.case.task} holds no steps to advise by",
                         "race with --task train or --task infer")
    return results[0]
