"""The commands offer what the verbs of the API take: most options are handed through by name."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from photofinish import api
from photofinish.cli import accuracy, largest_batch, race, run, serve, sweep, verify
from photofinish.errors import UsageError
from photofinish.verbs import why

SHOWN = {"html", "as_json", "as_csv", "as_markdown", "quiet"}  # the command's own
UNTOLD = {"listener", "command"}  # of Python alone


@pytest.mark.parametrize(("command", "verb", "besides"), [
    (race.command, api.race, set()), (sweep.command, api.sweep, set()), (serve.command, api.serve, set()),
    (verify.command, api.verify, {"seed"}), (accuracy.command, api.accuracy, set()),
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


@pytest.mark.parametrize("text", ["node1,node2", "node1, node2", " node1 ,node2,"])
def test_machines_are_named_with_or_without_blanks(text: str) -> None:
    context = race.command.make_context("race", ["digits_cnn", "--hosts", text])
    assert context.params["hosts"] == ("node1", "node2")


@pytest.mark.parametrize(("told", "said"), [
    ({"batch": -1}, "batch=-1"), ({"batch": 0}, "batch=0"), ({"launches": 0}, "launches=0"),
    ({"task": "fit", "epochs": 0}, "epochs=0"), ({"task": "fit", "seeds": 0}, "seeds=0"), ({"task": ()}, "of a task"),
])
def test_python_is_told_what_the_shell_refuses(told: dict[str, Any], said: str, tmp_path: Path) -> None:
    """These were taken for nothing said, or began a race that could not be."""
    with pytest.raises(UsageError, match=said):
        api.race("digits_cnn", ["fake", "fake"], store=tmp_path, **told)
    assert not list(tmp_path.iterdir())


def test_python_is_told_of_queries_and_explanations_too(tmp_path: Path) -> None:
    for asked, said in (({"queries": -5}, "queries=-5"), ({"launches": -1}, "launches=-1")):
        with pytest.raises(UsageError, match=said):
            api.serve("digits_cnn", ["fake"], rate=1.0, store=tmp_path, **asked)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="launches=0"):
        why.why("digits_cnn", ["fake", "fake"], launches=0, store=tmp_path)
    assert not list(tmp_path.iterdir())


def test_python_is_told_of_sweeps_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="launches=0"):
        api.sweep("digits_cnn", ["fake"], batches=(1, 2), launches=0, store=tmp_path)


def test_python_is_told_of_models_side_by_side_too(tmp_path: Path) -> None:
    """Of none at all it was a StopIteration."""
    with pytest.raises(UsageError, match="no model is named"):
        api.side_by_side({}, ["fake"], store=tmp_path)
    assert not list(tmp_path.iterdir())
