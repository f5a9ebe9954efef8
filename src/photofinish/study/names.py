"""The names that a study may say: of contenders, devices, data sets, and models in files beside the study's own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from photofinish.environments import (
    ALL,
    PIPELINE_TASKS,
    STRATEGY_TASKS,
    check_device,
    checked,
    everybody,
    frameworks,
)
from photofinish.errors import UsageError
from photofinish.files import datasets
from photofinish.study.checks import text
from photofinish.values import WHOLE, Contender


def devices() -> list[str]:
    """Those that a framework races on, the CPU first."""
    found = dict.fromkeys(device for each in frameworks().values() for device in each.devices)
    return sorted(found, key=lambda device: device != "cpu")


def device_of(value: Any) -> str:
    check_device(text(value))
    return str(value)


def contender_of(value: Any) -> str:
    spelled(text(value))
    return str(value)


def data_of(value: Any) -> str:
    """Whether the user's own data is there, is seen when it is raced with."""
    name, _, place = text(value).partition(":")
    if not datasets.is_text(value) and not (name in datasets.ON_DISK and place):
        datasets.find(value)
    return str(value)


def spelled(name: str) -> list[Contender]:
    """The contenders that a name stands for, on whatever device; on which of them is seen when they are raced. Raises
    UsageError."""
    if name == ALL:
        return list(dict.fromkeys(each for device in devices() for each in everybody(device)))
    refused = []
    for device in devices():
        try:
            return [checked(name, device)]
        except UsageError as error:
            refused.append(error)
    raise refused[0]


def titles(names: Sequence[str]) -> list[str]:
    """What a race calls them: each with its mode, one that is named twice with its number."""
    found = [replace(each, copy=1) for name in names for each in spelled(name)]
    return [replace(each, copy=found[:count].count(each)).name for count, each in enumerate(found, 1)]


def check_tasks(names: Sequence[str], tasks: Sequence[str]) -> None:
    """Raises UsageError for a task that fewer than two of the contenders have."""
    found = [each for name in names for each in spelled(name)]
    for task in tasks:
        lacking = [each.name for each in found if not _has(each, task)]
        if lacking and len(found) - len(lacking) < 2:
            raise UsageError(f"task {task} needs two contenders that have it, and {', '.join(lacking)} "
                             f"{'has' if len(lacking) == 1 else 'have'} it not",
                             "name others, or another task; see: photofinish list contenders")


def _has(contender: Contender, task: str) -> bool:
    framework = frameworks()[contender.framework]
    if framework.stepping(contender).options != contender.options:
        return task in PIPELINE_TASKS
    if contender.strategy:
        return task in STRATEGY_TASKS
    return ("train" if task in WHOLE else task) in framework.tasks_of(contender.mode)


def located(model: str, folder: Path | str) -> str:
    """A model's name; of one in a file, the path from the folder of the study on."""
    return model if ".py" not in model or str(folder) in ("", ".") else str(Path(folder, model))
