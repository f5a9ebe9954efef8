"""Framework headers are read without importing anything; contenders are checked against them."""

import sys
from pathlib import Path

import pytest

from photofinish import environments
from photofinish.environments import Environment, FrameworkInfo, Missing, expand, read_header, resolve
from photofinish.errors import UsageError
from photofinish.values import Contender

ALPHA = FrameworkInfo("alpha", "Alpha", ">=3.6", ("alpha-cpu==1.5",), ("eager", "compile"), ("cpu", "cuda"),
                      {"layout": ("contiguous", "channels_last"), "seed": ()})
BETA = FrameworkInfo("beta", "Beta", ">=3.6", ("numpy",), ("graph",), ("cpu",), {})


@pytest.fixture(autouse=True)
def two_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "frameworks", lambda: {"alpha": ALPHA, "beta": BETA})


def names(*texts: str) -> list[str]:
    return [contender.name for contender in expand(*texts)]


def test_every_framework_file_has_a_complete_header() -> None:
    files = [path for path in environments.FOLDER.glob("*.py") if not path.name.startswith("_")]
    assert len(files) >= 2
    for path in files:
        info = read_header(path)
        assert info.name == path.stem
        assert info.title and info.modes and "cpu" in info.devices
        assert info.dependencies and info.python.startswith(">=3")


@pytest.mark.parametrize(("text", "complaint"), [
    ("import alpha\n", "no `# /// script` header"),
    ('# /// script\n# requires-python = ">=3.6"\n# dependencies = []\n# ///\n', "lacks 'tool'"),
])
def test_a_header_that_is_absent_or_incomplete_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "gamma.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"gamma\.py") as caught:
        read_header(path)
    assert complaint in str(caught.value)


def test_the_default_mode_is_filled_in() -> None:
    assert names("alpha,beta") == ["alpha:eager", "beta:graph"]


def test_commas_inside_brackets_do_not_separate_contenders() -> None:
    assert names("alpha:eager[seed=1,layout=channels_last],beta") == [
        "alpha:eager[layout=channels_last,seed=1]", "beta:graph"]


def test_a_contender_named_twice_races_against_itself() -> None:
    assert names("alpha", "alpha:eager", "alpha:eager#2") == ["alpha:eager", "alpha:eager#2", "alpha:eager#3"]


@pytest.mark.parametrize(("text", "said"), [
    ("alpa:eager", ["'alpa'", "did you mean alpha?"]),
    ("zzz", ["choose from: alpha, beta"]),
    ("alpha:eagre", ["mode of alpha", "did you mean eager?", "eager, compile"]),
    ("alpha:eager[layuot=channels_last]", ["option of alpha", "did you mean layout?"]),
    ("alpha:eager[layout=channel_last]", ["layout of alpha", "did you mean channels_last?"]),
    ("alpha:eager[layout]", ["option=value"]),
    ("alpha:eager[layout=contiguous", ["is not a contender", "framework:mode"]),
    ("beta[any=1]", ["option of beta", "threads"]),
])
def test_wrong_contenders_are_told_the_nearest_right_one(text: str, said: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        expand(text)
    for part in said:
        assert part in str(caught.value)


def test_a_device_the_framework_does_not_have_is_refused() -> None:
    assert expand("alpha", device="cuda:1") == [Contender("alpha", "eager")]
    with pytest.raises(UsageError, match="device of beta"):
        expand("beta", device="cuda")


def test_what_is_not_installed_is_missing_with_its_cure() -> None:
    missing = resolve(Contender("alpha", "eager"))
    assert isinstance(missing, Missing)
    assert missing.reason.startswith("Alpha is not installed")
    assert missing.cure == "pip install 'alpha-cpu==1.5'"


def test_what_is_installed_runs_in_this_interpreter_in_its_one_version() -> None:
    environment = resolve(Contender("beta", "graph"))
    assert isinstance(environment, Environment)
    assert environment.python == Path(sys.executable)
    assert isinstance(resolve(Contender("beta", "graph", version=environment.version)), Environment)
    missing = resolve(Contender("beta", "graph", version="0.0.1"))
    assert isinstance(missing, Missing) and environment.version in missing.reason


def test_the_house_s_own_frameworks_do_not_race_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environments.installed() == []  # alpha is not installed, beta is the house's own
    monkeypatch.setattr(environments, "installed_version", lambda framework: "1.5")
    assert environments.installed() == [Contender("alpha", "eager")]
