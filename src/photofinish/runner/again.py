"""The command that shows a failure again: the race of one contender, against itself, or its proof."""

import shlex
from collections.abc import Iterator, Sequence

from photofinish import models
from photofinish.values import SERVE, Case


def command(case: Case, contender: str, seed: int, proven: bool, weights: bool = False, given: bool = False,
            tasks: Sequence[str] = (), timeout: float | None = None) -> str:
    """`proven` says whether the contender failed after its proof, which then need not be repeated; `weights` and
    `given` whether its weights and its environment were the user's own, whose paths a result does not keep; `tasks`
    are those that it did in its processes, where that of the case is not all; `timeout` are the seconds after which it
    counted as hung, where the user said so."""
    words = ["photofinish", "serve" if case.task == SERVE else "race", case.model, "--contenders",
             contender if case.task == SERVE else f"{contender},{contender}",
             "--batch", str(case.batch), *_size(case), *_machine(case), "--seed", str(seed),
             *_options(case, tasks or (case.task,)), *_yours(contender, weights, given, timeout)]
    return shlex.join(words + ["--no-certify"] * proven)


def proof(case: Case, contender: str, reduced: bool, weights: bool = False, given: bool = False,
          timeout: float | None = None) -> str:
    """The same of a contender that was not raced; `reduced` says whether the model was, whose size is then its own."""
    return shlex.join(["photofinish", "verify", case.model, "--contenders", contender,
                       *(["--reduced"] if reduced else _size(case)), *_machine(case),
                       *_yours(contender, weights, given, timeout)])


def _size(case: Case) -> Iterator[str]:
    if case.shape:
        yield from ("--input", "x".join(map(str, case.shape)))
    if case.classes not in (None, models.find(case.model).classes):
        yield from ("--classes", str(case.classes))


def _machine(case: Case) -> Iterator[str]:
    if case.device != "cpu":
        yield from ("--device", case.device)
    yield from ("--threads", str(case.threads))
    if case.regime != "matched":
        yield from ("--regime", case.regime)


def _yours(contender: str, weights: bool, given: bool, timeout: float | None) -> list[str]:
    yours = ["--weights", "FILE"] * weights + ["--env", f"{contender}=PATH"] * given
    return yours + (["--timeout", f"{timeout:g}s"] if timeout is not None else [])


def _options(case: Case, tasks: Sequence[str]) -> Iterator[str]:
    if case.optimizer and case.optimizer["kind"] != type(models.find(case.model).optimizer).__name__.lower():
        yield from ("--optimizer", case.optimizer["kind"])
    if case.load is not None:
        yield from ("--rate", f"{case.load.rate:g}") if case.load.rate else ("--clients", str(case.load.clients))
    elif tuple(tasks) != ("train",):
        for each in tasks:
            yield from ("--task", each)
    if case.training is not None:
        yield from ("--data", case.training.data, "--epochs", str(case.training.epochs))
        if case.training.target is not None:
            yield from ("--target", f"{case.training.target:.6g}")
    if case.link is not None:
        yield from ("--link", case.link.name)
    if case.hosts:
        yield from ("--hosts", ",".join(case.hosts))
