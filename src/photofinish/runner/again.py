"""Commands that race a case again: whole, or to show a failure again (one contender against itself, or its proof)."""

import shlex
from collections.abc import Iterator, Sequence

from photofinish import models
from photofinish.graph import ModelError
from photofinish.models import Model
from photofinish.optimizers import optimizer_json
from photofinish.values import SERVE, Case


def same(case: Case) -> list[str]:
    """The model of a case of steps, and the options without which it would be another."""
    return [case.model, "--task", case.task, "--batch", str(case.batch), *_size(case), *_machine(case),
            *_optimizer(case)]


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
    model = _model(case)
    if case.classes is not None and (model is None or case.classes != model.classes):
        yield from ("--classes", str(case.classes))


def _optimizer(case: Case) -> Iterator[str]:
    """None where it is the model's own: named, it is one of the usual fields."""
    model = _model(case)
    if case.optimizer and (model is None or case.optimizer != optimizer_json(model.optimizer)):
        yield from ("--optimizer", case.optimizer["kind"])


def _model(case: Case) -> Model | None:
    """None of one in a file that is gone."""
    try:
        return models.find(case.model)
    except ModelError:
        return None


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
    yield from _optimizer(case)
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
