"""`photofinish env`, and races in environments other than the tests' own."""

import errno
import fcntl
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy
import pytest

from installer import Installer
from photofinish import support
from photofinish.environments import MADE, Environment, Missing, cache, checked, here, interpreters, make, pins, resolve
from photofinish.reports.json import schema

Command = Callable[..., Any]  # conftest's `command` or `process`: arguments in, a Run out
OTHER = "2.2.6" if numpy.__version__ != "2.2.6" else "2.2.5"  # a NumPy that is not the tests' own
MODEL = """
from photofinish.models import image, model
from photofinish.vocabulary import batch_norm, conv, global_average_pool, linear, relu

@model(inputs=image(3, 6, 6), classes=4)
def tiny(x, classes):
    return linear(global_average_pool(relu(batch_norm(conv(x, 4, 3)))), classes)
"""


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Installer]:
    for name in ("PIP_FIND_LINKS", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PHOTOFINISH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pins, "FOLDER", tmp_path / "locks")
    (tmp_path / "bin").mkdir()
    installer = Installer(tmp_path / "bin")
    monkeypatch.setattr(make, "find_uv", lambda: str(installer.path))
    yield installer
    for folder in list(cache._held):
        cache.release(folder)


def listed(command: Command) -> dict[str, Any]:
    return dict(json.loads(command("env", "list", "--json").out))


def test_an_environment_is_made_found_locked_and_removed(command: Command, uv: Installer, tmp_path: Path) -> None:
    made = command("env", "create", "numpy@9.9.9")
    assert made.code == 0 and "NumPy" in made.err and made.out.startswith("numpy@9.9.9 9.9.9: ")
    place = made.out.split()[-1]
    assert command("env", "path", "numpy@9.9.9").out.strip() == place and Path(place, "bin", "python").exists()
    (entry,) = listed(command)["environments"]
    assert (entry["name"], entry["version"], entry["path"]) == ("numpy@9.9.9", "9.9.9", place)
    assert entry["packages"] == {"numpy": "9.9.9"} and entry["bytes"] > 0
    assert "numpy@9.9.9" in command("env", "list").out
    lock = command("env", "lock", "numpy@9.9.9").out.split()[-1]
    assert lock == str(tmp_path / "locks" / "numpy@9.9.9.txt") and "numpy==9.9.9" in Path(lock).read_text()
    cache.release(Path(place).parent)  # held by the process that made it, which here is this one
    kept = command("env", "remove", "fake,numpy,-numpy", "--json")
    assert json.loads(kept.out)["removed"] == [] and Path(place).exists()
    removed = command("env", "remove", "fake,numpy", "--json")
    assert json.loads(removed.out)["removed"] == [entry] and removed.err == "no environment of fake has been made\n"
    assert listed(command)["environments"] == [] and not Path(place).exists()


@pytest.mark.parametrize("name", [
    "torch@2.8.0:eager[build=timm:resnet18]", "torch@2.8.0:eager+horovod[2]",
    "torch@2.8.0:eager+horovod[2,build=timm:resnet18]"])
def test_the_cure_makes_the_very_environment_that_was_missing(command: Command, uv: Installer, name: str,
                                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(here, "_on_system", lambda program: True)
    missing = resolve(checked(name))
    assert isinstance(missing, Missing)
    made = command(*shlex.split(missing.cure)[1:])
    found = resolve(checked(name))
    assert made.code == 0 and isinstance(found, Environment) and found.origin == MADE
    home, _, place = made.out.strip().rpartition(": ")
    home = home.partition(" ")[0]
    assert missing.cure == f"photofinish env create {shlex.quote(home)}"
    assert command("env", "path", home).out.strip() == place == command("env", "path", name).out.strip()
    assert "PyTorch 2.8.0 has been made" in command("env", "path", "torch@2.8.0").err  # none of it alone
    assert f"write {home}" in command("env", "remove", name).err
    cache.release(Path(place).parent)
    assert json.loads(command("env", "remove", f"torch,fake,-{home}", "--json").out)["removed"] == []
    assert command("env", "remove", home).out == f"removed {home} 2.8.0\n" and not Path(place).exists()


def test_an_environment_is_made_whatever_device_its_framework_runs_on(command: Command, uv: Installer,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(here, "_on_system", lambda program: True)  # a driver of a GPU
    made = command("env", "create", "tensorrt")
    place = made.out.split()[-1]
    assert made.code == 0 and command("env", "path", "tensorrt").out.strip() == place
    cache.release(Path(place).parent)
    assert command("env", "remove", "tensorrt").out.startswith("removed tensorrt ")
    lacking = command("env", "path", "torch@2.8.0:cudagraphs", "torch@2.8.0+dp")
    assert "photofinish env create torch@2.8.0" in lacking.err and "does not run on" not in lacking.err


def test_what_may_not_be_removed_is_told_and_the_others_are_removed(command: Command, uv: Installer,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that several share, or one on a disk without locks."""
    places = [Path(command("env", "create", name).out.split()[-1]) for name in ("numpy@9.9.9", "fake@8.8.8")]
    for place in places:
        cache.release(place.parent)
    unlink = Path.unlink

    def theirs(path: Path, missing_ok: bool = False) -> None:
        if places[0].parent in path.parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        unlink(path, missing_ok)

    with monkeypatch.context() as shared:
        shared.setattr(Path, "unlink", theirs)
        run = command("env", "remove", "all")
    assert run.code == 2 and run.out == "removed fake@8.8.8 8.8.8\n" and "--store" not in run.err
    assert "numpy@9.9.9 9.9.9 cannot be removed: Permission denied: " in run.err and "PHOTOFINISH_CACHE" in run.err
    assert [place.exists() for place in places] == [True, False]

    def refused(file: object, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refused)
    run = command("env", "remove", "numpy")
    assert run.code == 2 and "files cannot be locked there" in run.err and "PHOTOFINISH_CACHE" in run.err


def test_every_framework_is_listed_with_where_it_runs(command: Command, uv: Installer) -> None:
    found = listed(command)
    assert [each["name"] for each in found["frameworks"]] == support.frameworks()
    for each in found["frameworks"]:
        assert each["where"] in ("this Python", "made", "made on demand", "nowhere")
        assert bool(each["version"]) == (each["where"] in ("this Python", "made"))
        assert bool(each["reason"]) == (each["where"] == "nowhere")
    assert uv.called == []


def test_one_that_cannot_be_made_is_told_and_the_others_are_made(command: Command, uv: Installer) -> None:
    uv.behave("fails")
    failed = command("env", "create", "numpy@9.9.9", "fake@8.8.8", "--json")
    told = json.loads(failed.out)
    assert failed.code == 1 and told["environments"] == []
    assert [each["name"] for each in told["failures"]] == ["numpy@9.9.9:reference", "fake@8.8.8:steady"]
    assert "error: there is no" in told["failures"][0]["log"]
    text = command("env", "create", "numpy@9.9.9")
    assert text.code == 1 and "photofinish env create numpy@9.9.9" in text.err and "Traceback" not in text.err


@pytest.mark.parametrize(("arguments", "said"), [
    (["env", "create"], ["FRAMEWORK"]),
    (["env", "create", "nmpy"], ["did you mean numpy?"]),
    (["env", "remove", "numpy", "nmpy"], ["did you mean numpy?"]),
    (["env", "remove", "numpy", "--", "-nmpy"], ["did you mean numpy?"]),
    (["env", "remove", "numpy:reference"], ["all modes", "write numpy"]),
    (["env", "path", "numpy@9.9.9"], ["no environment of NumPy", "photofinish env create numpy@9.9.9"]),
    (["env", "lst"], ["lst"]),
    (["race", "digits_cnn", "-c", "fake,fake", "--env", "fake=/nowhere"], ["there is no Python"]),
    (["race", "digits_cnn", "-c", "fake,fake", "--env", "fake"], ["--env torch=/path/to/venv"]),
    (["race", "digits_cnn", "-c", "fake,fake", "--env", f"numpy={sys.executable}"], ["name one of fake:steady, fake"]),
    (["verify", "digits_cnn", "-c", "fake", "--env", f"fake@9.9.9={sys.executable}"], ["nobody of that name"]),
    (["history", "digits_cnn", "--framework", "fake", "--env", f"numpy={sys.executable}"], ["name one of fake"]),
    (["race", "digits_cnn", "-c", "fake,fake@9.9.9", "--no-env"], ["is not installed: this Python has"]),
    (["verify", "digits_cnn", "-c", "fake@9.9.9", "--no-env"], ["photofinish env create fake@9.9.9"]),
])
def test_wrong_use_is_one_clear_message(command: Command, uv: Installer, arguments: list[str], said: list[str]) -> None:
    run = command(*arguments)
    assert run.code == 2 and "Traceback" not in run.err and run.err.startswith("photofinish: ")
    for part in said:
        assert part in run.err
    assert uv.called == []


def test_a_race_with_an_environment_of_the_users_records_what_is_in_it(process: Command, tmp_path: Path) -> None:
    """The tests' own Python, named by its path, stands for another one."""
    (tmp_path / "net.py").write_text(MODEL)
    link = tmp_path / "venv" / "bin" / "python"
    link.parent.mkdir(parents=True)
    link.write_text(f'#!/bin/sh\nexec "{interpreters.own().python}" "$@"\n')
    link.chmod(0o755)
    theirs = f"fake@{numpy.__version__}"
    run = process("race", "./net.py:tiny", "-c", f"{theirs}:steady[step=0.002],fake:steady[step=0.003]",
                  "--env", f"{theirs}={tmp_path / 'venv'}", "--launches", "1", "--no-certify", "--json")
    assert run.code == 1, run.err  # not certified, so not comparable
    found = json.loads(run.out)
    jsonschema.validate(found, schema("race"))
    origins = {each["name"].partition(":")[0]: each["environment"]["origin"] for each in found["contenders"]}
    assert origins == {theirs: "given", "fake": "this Python"}
    for each in found["contenders"]:
        assert each["environment"]["packages"]["numpy"] == numpy.__version__
    assert "an environment of the user's" in process("report", "last", "--full").out


def test_a_race_makes_what_it_needs(process: Command, tmp_path: Path) -> None:
    """For real: an environment of another NumPy, in which the fake framework races against itself here."""
    (tmp_path / "net.py").write_text(MODEL)
    ours = {"PHOTOFINISH_ENVIRONMENTS": "", "PHOTOFINISH_CACHE": str(tmp_path / "cache")}
    run = process("race", "./net.py:tiny", "-c", f"fake@{OTHER}:steady[step=0.002],fake:steady[step=0.003]",
                  "--launches", "1", "--json", environment=ours)
    if run.code == 2 and any(word in run.err for word in ("Failed to fetch", "connect", "Could not fetch")):
        pytest.skip(f"no package index can be reached: {run.err}")
    assert run.code == 0, run.err
    assert "making an environment for Fake" in run.err
    found = {each["name"]: each for each in json.loads(run.out)["contenders"]}
    made, here = found[f"fake@{OTHER}:steady[step=0.002]"], found["fake:steady[step=0.003]"]
    assert made["environment"]["origin"] == "made" and made["environment"]["packages"]["numpy"] == OTHER
    assert made["versions"]["version"] == OTHER and here["versions"]["version"] == numpy.__version__
    assert here["environment"]["origin"] == "this Python"
