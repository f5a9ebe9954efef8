"""The commands offer what the verbs of the API take: most options are handed through by name."""

import inspect
from collections.abc import Callable
from typing import Any

import click
import pytest

from photofinish import api
from photofinish.cli import accuracy, largest_batch, race, run, serve, sweep, verify

SHOWN = {"html", "as_json", "as_csv", "as_markdown", "quiet"}  # the command's own
UNTOLD = {"listener", "timeout", "command"}  # of Python alone


@pytest.mark.parametrize(("command", "verb", "besides"), [
    (race.command, api.race, set()), (sweep.command, api.sweep, set()), (serve.command, api.serve, set()),
    (verify.command, api.verify, {"regime", "seed"}), (accuracy.command, api.accuracy, set()),
    (largest_batch.command, api.largest_batch, {"regime"}),
], ids=["race", "sweep", "serve", "verify", "accuracy", "largest-batch"])
def test_a_command_offers_what_its_verb_takes(command: click.Command, verb: Callable[..., Any],
                                              besides: set[str]) -> None:
    options = {{"tasks": "task"}.get(str(each.name), each.name) for each in command.params}
    assert options - SHOWN == set(inspect.signature(verb).parameters) - UNTOLD - besides


@pytest.mark.parametrize("option", [("--batch", "²"), ("--input", "²x8x8")])
def test_what_looks_like_a_number_and_is_none_is_refused(option: tuple[str, str],
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["race", "digits_cnn", *option]) == 2
    assert option[1] in capsys.readouterr().err
